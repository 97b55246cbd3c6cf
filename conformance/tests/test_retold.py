"""Scripts of the corpus told anew: crossed, interrupted, gone on with; the model judges those, too."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from busproof.bus.fleet import Fleet, reference
from busproof.bus.warm import Warm
from busproof.oracle.models.spec import Model
from busproof.play.explore import retold
from busproof.play.explore.orders import Called
from busproof.play.explore.script import Step, call, to_line
from busproof.play.explore.search import play
from busproof.play.explore.twin import Twin
from busproof.systems import SYSTEMS

FORGETS_CURSORS = """
from refbus.driver import serve
from refbus.worker import bus

class Forgets(bus.WorkerBus):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.db.write("DELETE FROM cursors")

if __name__ == "__main__":
    serve({"worker": Forgets})
"""
STORY = [
    Step("open", 0),
    call(0, "publish", agent_id="ann", message={"type": "t"}),
    call(0, "poll", agent_id="bob"),
    call(0, "ack", agent_id="bob", seq={"$": "1.seq1"}),
    call(0, "poll", agent_id="bob"),
]
for number, step in enumerate(STORY):
    step.name = str(number)


@pytest.fixture(params=[name for name, entry in SYSTEMS.items() if entry.model is not None])
def on(request: pytest.FixtureRequest, warm: Warm) -> Iterator[Fleet]:
    """The reference of each system that has a model."""
    with closing(Fleet([warm.spec(reference(request.param))], system=request.param)) as fleet:
        yield fleet


def test_the_reference_answers_as_the_model_says_where_stories_meet(on: Fleet) -> None:
    specification = SYSTEMS[on.system].model
    assert specification is not None
    tell = retold.teller(on.system)
    played = [tell(on, specification, seed, 60, None) for seed in range(6)]
    assert [program.mismatch.told() for program in played if program.mismatch is not None] == []
    assert sum(program.seen.calls for program in played) > 100


def test_the_twin_on_which_calls_are_tried_knows_what_the_state_knows(
    on: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each call of a story. A bus that declares everything is sent calls untried, so this one lacks something."""
    specification = SYSTEMS[on.system].model
    assert specification is not None
    monkeypatch.setattr(specification.model, "EVERYTHING", frozenset({"what nobody has"}))
    follows, equal = Twin.follows, list[bool]()

    def followed(twin: Twin, states: list[Model], calls: list[Called]) -> None:
        follows(twin, states, calls)
        if twin.state is not None and twin.copy is not None:
            twin.copy.features = twin.state.features  # a set tells the same members in any order
            equal.append(twin.copy.fingerprint() == twin.state.fingerprint())

    monkeypatch.setattr(Twin, "follows", followed)
    tell = retold.teller(on.system)
    assert tell(on, specification, 2, 40, None).mismatch is None
    assert equal
    assert all(equal)


def test_nothing_is_told_that_waits_for_a_minute() -> None:
    """A sync that is not told how long it waits has news in its story, and perhaps none in another."""
    story = [call(0, "sync", topic_id="x"), call(0, "sync", wait_seconds=None)]
    assert [retold._named(step, "a").params["wait_seconds"] for step in story] == [0, 0]
    assert retold._named(call(0, "sync", wait_seconds=1), "a").params == {"wait_seconds": 1}


def test_the_same_seed_tells_the_same(warm: Warm) -> None:
    specification = SYSTEMS["worker"].model
    assert specification is not None
    with closing(Fleet([warm.spec(reference("worker"))], system="worker")) as fleet:
        programs = [retold.teller("worker")(fleet, specification, 7, 60, None) for _ in range(2)]
    first, second = ([to_line(step) for step in program.steps] for program in programs)
    assert first == second


def test_what_no_story_shows_is_found_beside_it(tmp_path: Path, warm: Warm) -> None:
    bus = tmp_path / "bus.py"
    bus.write_text(FORGETS_CURSORS, encoding="utf-8")
    spec = warm.spec(f"exec:{shlex.quote(sys.executable)} {shlex.quote(str(bus))}")
    specification = SYSTEMS["worker"].model
    assert specification is not None
    with closing(Fleet([spec], system="worker")) as fleet:
        assert play(fleet, specification, STORY).mismatch is None
        tell = retold.teller("worker", {"a poll": STORY})
        mismatches = [tell(fleet, specification, seed, 60, None).mismatch for seed in range(12)]
    assert any(mismatches)
