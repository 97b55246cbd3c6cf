"""The search finds a difference and shrinks it, and the shrunk script plays to the same verdict."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import pickle
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from busproof.bus.fleet import Fleet, reference
from busproof.cli import main
from busproof.faults.record import faults
from busproof.oracle.models.spec import Above, plain
from busproof.play.explore import command, corpus, script
from busproof.play.explore.script import Step, Unresolved, call, changed, copied, resolve
from busproof.play.explore.search import Program, invent, play
from busproof.play.explore.shrink import shrink
from busproof.play.explore.stage import Seen
from busproof.systems import SYSTEMS

SPECIFICATION = SYSTEMS["worker"].model
assert SPECIFICATION is not None


@pytest.fixture
def fleet_of() -> Iterator[Callable[..., Fleet]]:
    """Fleets that end with the test."""
    fleets: list[Fleet] = []

    def start(mutant: str = "") -> Fleet:
        bus = faults("worker")[mutant].spec() if mutant else reference("worker")
        fleets.append(Fleet([bus], system="worker"))
        return fleets[-1]

    yield start
    for fleet in fleets:
        fleet.close()


def _published(at: int = 0, **message: Any) -> Step:
    return call(at, "publish", agent_id="ann", message={"type": "t", **message})


def _named(*steps: Step) -> list[Step]:
    for number, step in enumerate(steps):
        step.name = str(number)
        for letter, part in zip("ab", step.calls, strict=False):
            part.name = f"{number}{letter}"
    return list(steps)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["x" * 5000, "é" * 300]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.too_slow])  # a busy machine is slow
@given(JSON)
def test_a_script_is_data_and_comes_back_as_it_was(value: Any) -> None:
    step = _named(call(1, "publish", ("an edge",), agent_id="ann", message={"type": "t", "payload": value}))[0]
    again = script.of_object(json.loads(script.to_line(step)))
    assert resolve(again.params, {}) == step.params
    assert (again.do, again.at, again.method, again.name, again.tags) == ("call", 1, "publish", "0", ("an edge",))


def test_references_follow_what_the_bus_chose() -> None:
    seq = Above("3.seq1", 0)
    with pytest.raises(Unresolved):
        resolve({"seq": seq}, {"3.seq1": seq})
    seq.takes(7)
    assert resolve({"seq": changed(seq, plus=1)}, {"3.seq1": seq}) == {"seq": 8}
    with pytest.raises(Unresolved):
        resolve({"seq": {"$": "4.seq1"}}, {"3.seq1": seq})
    assert resolve({"m": {"$many": 2, "of": {"id": "m#"}}}, {}) == {"m": [{"id": "m0"}, {"id": "m1"}]}


def test_the_reference_answers_as_the_model_says(fleet_of: Callable[..., Fleet]) -> None:
    fleet = fleet_of()
    calls = 0
    for seed in range(100, 106):
        program = invent(fleet, SPECIFICATION, seed, 40)
        assert program.mismatch is None, program.mismatch.told()
        calls += program.seen.calls
    assert calls > 6 * 30


def test_a_program_is_drawn_alike_from_the_same_seed(fleet_of: Callable[..., Fleet]) -> None:
    fleet = fleet_of()
    program, other = (invent(fleet, SPECIFICATION, 3, 25) for _ in range(2))
    assert [script.to_line(step) for step in program.steps] == [script.to_line(step) for step in other.steps]


def test_what_differs_is_found_shrunk_and_played_again(fleet_of: Callable[..., Fleet]) -> None:
    """A status query that shows ten rows: it takes eleven, and everything else goes."""
    fleet = fleet_of("status_shows_ten")
    looks = ["liveness", "dump", "archive"]
    beats = [_published(payload=n) for n in range(13)]
    for step in beats:
        step.params["message"]["type"] = "heartbeat"
    noise = [call(0, looks[n % 3]) for n in range(6)]
    steps = [step for pair in itertools.zip_longest(beats, noise) for step in pair if step is not None]
    program = play(fleet, SPECIFICATION, _named(Step("open", 0), *steps, call(0, "status")))
    assert program.mismatch is not None
    assert "worker.presence.18" in program.mismatch.rows
    small, is_certain = shrink(lambda steps: play(fleet, SPECIFICATION, steps), program, seconds=60)
    assert is_certain
    assert [step.method for step in small.steps if step.do == "call"] == ["publish"] * 11 + ["status"]
    again = play(fleet, SPECIFICATION, small.steps)
    assert again.mismatch is not None
    assert again.mismatch.kind == program.mismatch.kind


def test_a_race_is_forced_and_explained_by_an_order(fleet_of: Callable[..., Fleet]) -> None:
    """Two claims wait for the lock: one gets it. A look before the lock is seen at once, each time."""
    claims = [call(at, "try_claim_task", task_id="t", agent_id=f"agent {at}") for at in (0, 1)]
    ways = [
        call(at, "transition", worker="w", from_state="ASSIGNED", to_state=to)
        for at, to in enumerate(("WORKING", "FAILED"))
    ]
    steps = _named(
        Step("open", 0),
        Step("open", 1),
        Step("race", calls=claims),
        call(0, "transition", worker="w", to_state="ASSIGNED"),
        Step("race", calls=ways),
    )
    assert play(fleet_of(), SPECIFICATION, steps).mismatch is None
    for _ in range(3):
        broken = play(fleet_of("looks_then_acts"), SPECIFICATION, steps).mismatch
        assert broken is not None
        assert broken.is_of_a_race


def test_a_missing_answer_is_a_short_named_failure(fleet_of: Callable[..., Fleet]) -> None:
    fleet = fleet_of("dies_of_a_bad_call")
    program = play(
        fleet, SPECIFICATION, _named(Step("open", 0), call(0, "publish", agent_id="ann", message={"type": 5}))
    )
    assert program.mismatch is not None
    assert program.mismatch.told().startswith("the bus ended before it answered publish: ")


def test_another_choice_where_the_seed_is_silent_is_recognised_and_followed(fleet_of: Callable[..., Fleet]) -> None:
    steps = _named(
        Step("open", 0, params={"options": {"lease_ms": 10}}),
        call(0, "try_claim_task", task_id="t", agent_id="ann"),
        Step("clock", params={"now_ms": 1_768_053_600_010}),
        call(0, "try_claim_task", task_id="t", agent_id="bob"),
        call(0, "dump"),
    )
    dialects: dict[str, str] = {}
    assert play(fleet_of("lease_ends_late"), SPECIFICATION, steps, dialects).mismatch is None
    assert dialects == {"worker.lease.07": "live"}


def test_the_command_says_what_it_found_and_what_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fleet_of: Callable[..., Fleet]
) -> None:
    assert main(["explore", "worker", "--calls", "60", "--seed", "9"]) == 0
    assert "every answer is the model's" in capsys.readouterr().out
    bus = faults("worker")["time_of_the_first_ack"].spec()
    path = tmp_path / "script.jsonl"
    steps = _named(
        Step("open", 0),
        _published(),
        call(0, "ack", agent_id="ann", seq=0),
        Step("clock", params={"now_ms": 1_768_053_600_001}),
        call(0, "ack", agent_id="ann", seq={"$": "1.seq1"}),
        call(0, "dump"),
    )
    script.save(path, steps)
    assert main(["explore", "worker", "--bus", bus, "--script", str(path)]) == 1
    out = capsys.readouterr().out
    assert "worker.cursor.08 (MUST)" in out
    assert "updated_at_ms" in out
    assert main(["explore", "worker", "--script", str(tmp_path / "nosuch.jsonl")]) == 2


def test_a_choice_that_the_model_does_not_follow_is_told_and_the_search_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no fault, and behind it may be one."""
    bus = faults("timeline")["unknown_timelines_are_empty"].spec()
    asked = ["--seed", "10", "--calls", "1000", "--out", str(tmp_path)]  # of an unknown timeline, sooner or later
    assert main(["explore", "timeline", "--bus", bus, *asked]) == 0
    out = capsys.readouterr().out
    assert out.count("timeline.log.29 (RESOLVED)") == 1
    assert "every other answer is the model's" in out


def test_a_long_chain_of_numbers_is_not_kept_nor_copied() -> None:
    """Each is above the one before it; a program of thousands of messages can be raced, shrunk and followed."""
    last: Above | int = 0
    for seq in range(1, 20_001):
        above = Above(f"{seq}.seq", last)
        assert not above.takes(plain(last))
        assert above.takes(seq)
        last = above
    again = pickle.loads(pickle.dumps(last))
    assert (again.value, again.takes(7), again.takes(20_000)) == (20_000, False, True)
    params = {"seqs": [last], "of": {"more": last}}
    assert copied(params) == params
    assert copied(params)["seqs"] is not params["seqs"]


def test_ctrl_c_tells_how_far_an_exploration_came(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2: a search that was cut short decides nothing."""

    def search(*_: object, **__: object) -> Iterator[Program]:
        yield Program(1, seen=Seen(calls=12))
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "search", search)
    assert command.main(["worker", "--calls", "50"]) == 2
    assert "12 calls in 1 programs, no MUST broken by then" in capsys.readouterr().err


def test_a_call_that_cannot_be_made_beside_one_that_waits_leaves_that_one_judged() -> None:
    """The id is taken, so no message is stored; the sync that waits for it ends before the next step."""
    lane = {"$": "create.topic2"}

    def stranger(name: str, id_: str) -> Step:
        row = {"sender": "bob", "content_markdown": id_, "created_at": 1.0, "topic_id": lane, "message_id": id_}
        return Step("call", "hand", "stranger_sends", row, name)

    waits = Step("call", 0, "sync", {"topic_id": lane, "wait_seconds": 1}, "waits")
    steps = [
        Step("open", 0, name="open"),
        Step("call", 0, "topic_create", {"name": "lane"}, "create"),
        Step("call", 0, "topic_join", {"topic_id": lane, "agent_name": "ann"}, "join"),
        stranger("first", "0000000001"),
        Step("call", 0, "sync", {"topic_id": lane, "wait_seconds": 0}, "reads"),
        Step("wait", name="wait", calls=[waits, stranger("again", "0000000001")]),
        stranger("other", "0000000002"),
        Step("call", 0, "sync", {"topic_id": lane, "wait_seconds": 0}, "reads on"),
    ]
    with contextlib.closing(Fleet([reference("topics")], system="topics")) as fleet:
        specification = SYSTEMS["topics"].model
        assert specification is not None
        played = play(fleet, specification, steps)
    assert played.mismatch is None
    assert dict(played.seen.left_out) == {"stranger_sends": 1}


def test_a_script_that_is_played_tells_the_choice_that_explains_its_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise a choice that a search reported would look as if it could not be seen again."""
    bus = faults("relay")["days_of_arrival"].spec()
    assert main(["explore", "relay", "--bus", bus, "--script", "over_midnight"]) == 0
    out = capsys.readouterr().out
    assert "dialect: relay.export.03: of discovery" in out
    assert "every other answer is the model's" in out


def test_a_difference_that_needs_earlier_programs_says_so_and_how_to_play_them_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They showed a choice, and this one contradicts it; alone, it shows a bus of the other choice."""
    specification, seen = SYSTEMS["relay"].model, {"relay.export.03": "of discovery"}
    assert specification is not None
    args = argparse.Namespace(system="relay", bus="", retold=True, seed=7, out=tmp_path)
    with contextlib.closing(Fleet([reference("relay")], system="relay")) as fleet:
        program = play(fleet, specification, corpus.scripts("relay", only=["over_midnight"])["over_midnight"], {**seen})
        assert program.mismatch is not None
        command._found(fleet, specification, args, program, seen, done=100)
    out = capsys.readouterr().out
    assert "Alone it shows nothing: it contradicts what earlier programs showed (relay.export.03: of discovery)" in out
    assert f"busproof explore relay --retold --seed 7 --calls {100 + program.seen.calls}" in out


@settings(max_examples=20)  # each packs a folder
@given(st.lists(st.text(), max_size=4), st.booleans())
def test_a_packed_script_is_the_same_and_a_file_of_its_name_comes_before_it(names: list[str], is_long: bool) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "worker").mkdir()
        steps = [Step("call", 0, "spawn_agent", {"agent_id": name}, name=f"{n}") for n, name in enumerate(names)]
        padded = [*steps, *(Step("open", 0, name=f"again {n}") for n in range(corpus.PACKED_FROM // 40))]
        script.save(folder / "worker" / "00001.jsonl", steps)
        script.save(folder / "worker" / "by_hand.jsonl", padded if is_long else steps)
        assert corpus.pack("worker", folder) == ["00001", "by_hand"][: 1 + is_long]
        assert corpus.names("worker", folder) == ["00001", "by_hand"]
        assert corpus.scripts("worker", folder) == {"00001": steps, "by_hand": padded if is_long else steps}
        script.save(folder / "worker" / "00001.jsonl", padded)
        assert corpus.scripts("worker", folder)["00001"] == padded
