"""The corpus of each system holds on the reference, and reaches all of its model."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from busproof import evidence
from busproof.bus.fleet import Fleet, reference
from busproof.bus.warm import Warm
from busproof.pages.renew import RENEW
from busproof.play.explore import corpus
from busproof.play.explore.before import led_to
from busproof.play.explore.script import Step, call, of_object
from busproof.play.explore.search import Program, play
from busproof.systems import SYSTEMS

UNDECIDED_MAX = 1  # races that may have gone in too many orders to be judged
PAIRS_MISSING_MAX = 1  # of all pairs of a system's methods, one after the other on a store; in percent


MODELLED = [name for name, entry in SYSTEMS.items() if entry.model is not None]


@pytest.mark.parametrize("system", MODELLED)
def test_the_figures_of_the_corpus_are_of_this_model_and_these_scripts(system: str) -> None:
    """They are measured at night, and after a change of either: tox run -e pages."""
    last = evidence.record("coverage", system)
    specification = SYSTEMS[system].model
    assert specification is not None
    assert last["of model and scripts"] == corpus.digest(specification), f"the figures of {system} are stale: {RENEW}"
    assert int(last["scripts"]) == len(corpus.scripts(system))
    edges, pairs = len(specification.edges), len(corpus.pairs_possible(specification))
    assert last["edges"] == f"{edges} of {edges}"
    branches, _, possible = last["branches"].partition(" of ")
    assert branches == possible
    pairs_reached, _, possible = last["pairs"].partition(" of ")
    assert int(possible) == pairs
    assert pairs - int(pairs_reached) <= pairs * PAIRS_MISSING_MAX / 100
    assert int(last["races of too many orders, not judged"]) <= UNDECIDED_MAX


@pytest.mark.nightly
@pytest.mark.parametrize("system", MODELLED)
def test_the_corpus_holds_and_reaches_every_branch_and_edge(system: str, warm: Warm) -> None:
    """Each answer is the model's, nothing of note is left out, and no branch of the model is without a script."""
    specification = SYSTEMS[system].model
    assert specification is not None
    variants = [f"exec:{sys.executable} -m {program}" for program in specification.variants]
    dialects: dict[str, str] = {}
    played: list[Program] = []

    def playing(fleet: Fleet, steps: list[Step]) -> Callable[[], Program]:
        def once() -> Program:
            played.append(play(fleet, specification, steps, dialects))
            return played[-1]

        return once

    with contextlib.ExitStack() as stack:
        specs = [warm.spec(reference(system)), *variants]
        fleets = [stack.enter_context(contextlib.closing(Fleet([spec], system=system))) for spec in specs]
        scripts = corpus.scripts(system).items()
        plays = [(f"{name} {at}", playing(fleet, steps)) for at, fleet in enumerate(fleets) for name, steps in scripts]
        reach = corpus.reached(specification, plays)
    assert [program.mismatch.told() for program in played if program.mismatch] == []
    assert dialects == {}
    of_all = played[: len(scripts)]  # by the reference itself; a variant is not asked for what it does not promise
    assert sum(program.seen.skipped for program in of_all) < sum(program.seen.calls for program in of_all) / 20
    assert reach.undecided <= UNDECIDED_MAX
    assert reach.missing == []
    assert set(specification.edges) - reach.edges == set()
    possible = corpus.pairs_possible(specification)
    missing = possible - corpus.pairs_reached(reach.pairs)
    assert len(missing) <= len(possible) * PAIRS_MISSING_MAX / 100, missing


def test_a_bus_whose_file_nobody_can_read_is_sent_all_but_races_and_looks_into_the_file(tmp_path: Path) -> None:
    """The ids are in its answers. A call that would wait for one that was left out is left out, too."""
    (tmp_path / "serve.sh").write_text(
        f'AGENT_BUS_DB="$AGENT_BUS_DB.elsewhere" exec {sys.executable} -m refbus.topics.mcp.server\n'
    )
    specification, steps = SYSTEMS["topics"].model, corpus.scripts("topics")["said_in_every_way"]
    assert specification is not None
    unheard = call(1, "sync", topic_id={"$": "t.topic2"}, auto_advance=False)
    race = Step("race", calls=[call(at, "sync", topic_id={"$": "t.topic2"}, outbox=SAID) for at in (0, 1)])
    waits = [Step("open", 0, name="0"), Step("open", 1, name="1"), call(0, "topic_create", name="t")]
    waits += [call(at, "topic_join", agent_name=str(at), topic_id={"$": "t.topic2"}) for at in (0, 1)]
    for number, step in enumerate(waits := [*waits, race, unheard]):
        step.name = "t" if step.method == "topic_create" else f"w{number}"
    with contextlib.closing(Fleet([f"mcp:sh {tmp_path / 'serve.sh'}"], system="topics")) as fleet:
        assert fleet.hello.features == []
        program = play(fleet, specification, steps)
        left_out = play(fleet, specification, waits)
    assert program.mismatch is None
    assert {"topics.log.40", "topics.route.13", "topics.cursor.05"} <= program.seen.rows
    assert "topics.log.44" not in program.seen.rows  # it is read in the file
    sent = [asked for asked in steps if asked.do == "call" and asked.at != "hand"]
    assert program.seen.calls >= len(sent)
    assert left_out.mismatch is None
    assert (left_out.seen.calls, left_out.seen.skipped) == (3, 3)


SAID = [{"content_markdown": "hello"}]


def test_a_bus_that_stumbles_once_is_not_said_to_be_of_two_minds(tmp_path: Path) -> None:
    """It reads numbers as doubles, which is a dialect. One failed call does not make it a fault."""
    steps = {
        "a": [OPEN, _publish(2**53 + 1), Step("call", 0, "poll", {"agent_id": "ann"}, "1")],
        "b": [OPEN, _publish(1), Step("call", 0, "ack", {"agent_id": "ann", "seq": 1}, "1")],
    }
    replay = _replayed(tmp_path, steps, STUMBLES_ONCE.format(folder=str(tmp_path)))
    assert list(replay.broken) == ["b"]
    assert list(replay.dialects.values()) == ["doubles"]


def test_what_no_choice_explains_is_blamed_itself_and_not_the_choice_before(tmp_path: Path) -> None:
    """The same dialect, and a fault behind it in the same script: the rows of the fault fail, and no other."""
    steps = [OPEN, _publish(2**53 + 1), Step("call", 0, "poll", {"agent_id": "ann"}, "1"), ACK]
    replay = _replayed(tmp_path, {"a": steps}, "def stumble():\n    raise Refused('INTERNAL', 'never')")
    assert list(replay.dialects.values()) == ["doubles"]
    mismatch = replay.broken["a"].mismatch
    assert mismatch is not None
    assert [called.method for called in mismatch.called] == ["ack"]


def test_the_steps_before_a_difference_tell_what_this_bus_was_asked_and_answered(tmp_path: Path) -> None:
    """A call has the values that were sent and the answer; a call that the bus does not offer was not asked."""
    look = Step("call", 0, "search", {"query": "x"}, "1")
    replay = _replayed(
        tmp_path,
        {"a": [OPEN, *CLOCKS, _publish("x"), look, Step("pass", params={"ms": 1500}, name="p"), ACK]},
        "def stumble():\n    raise Refused('INTERNAL', 'never')",
    )
    mismatch = replay.broken["a"].mismatch
    assert mismatch is not None
    heading, opened, *set_twice, published, searched, passed = led_to(replay.broken["a"], mismatch)
    assert heading == "before it, the last 6 of 6 steps:"
    assert set_twice == [f"  the clock is set to {now_ms} ms" for now_ms in (1768053601000, 1768053602000)]
    assert opened == "  process 0 opens the store"
    sent = '{"agent_id": "ann", "message": {"type": "t", "payload": "x"}}'
    assert published.startswith(f'  process 0: publish {sent} → {{"id": ')
    assert searched == '  not asked of this bus: process 0: search {"query": "x"}'
    assert passed == "  1,500 ms pass"


def _replayed(folder: Path, steps: dict[str, list[Step]], stumbles: str) -> corpus.Replay:
    """Play scripts on the Python example, except that it takes numbers for doubles, and an ack may stumble."""
    for name in ("adapter.py", "bus.py"):
        text = (Path(__file__).parents[1] / "examples/minimal_python" / name).read_text()
        text = text.replace("json.loads(line)", "json.loads(line, parse_int=lambda n: int(float(n)))")
        text = text.replace(
            "def ack(agent_id, seq):",
            "def ack(agent_id, seq):\n    stumble()\n    return acked(agent_id, seq)\ndef acked(agent_id, seq):",
        )
        (folder / name).write_text(text.replace("bus, clock = None, None", f"bus, clock = None, None\n{stumbles}"))
    specification = SYSTEMS["worker"].model
    assert specification is not None
    with contextlib.closing(Fleet([f"exec:{sys.executable} {folder / 'adapter.py'}"], system="worker")) as fleet:
        return corpus.replay(fleet, specification, steps)


OPEN = of_object({"do": "open", "name": "open", "at": 0})
CLOCKS = [Step("clock", params={"now_ms": now_ms}, name=f"c{now_ms}") for now_ms in (1768053601000, 1768053602000)]
ACK = Step("call", 0, "ack", {"agent_id": "ann", "seq": 1}, "2")
STUMBLES_ONCE = """
import os
def stumble():
    if not os.path.exists({folder!r} + "/stumbled"):
        open({folder!r} + "/stumbled", "w").close()
        raise Refused("INTERNAL", "not this time")
"""


def _publish(payload: object) -> Step:
    return Step("call", 0, "publish", {"agent_id": "ann", "message": {"type": "t", "payload": payload}}, "0")
