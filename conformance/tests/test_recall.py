"""A call is made again when others have changed what it does, and the kit counts that it was."""

from __future__ import annotations

import random
import shlex
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from busproof.explore.drawing import FOLDERS
from busproof.explore.recall import Recall
from busproof.explore.script import Step, call
from busproof.explore.search import play, search
from busproof.explore.stage import Stage
from busproof.explore.worker import SPECIFICATION
from busproof.fleet import Fleet, reference
from busproof.warm import Warm

OPENED = [Step("open", 0, name="o0"), Step("open", 1, name="o1")]
POLLED = call(0, "poll", agent_id="bob")
TOLD = call(1, "publish", agent_id="ann", message={"type": "t", "to": "bob"})
# A process that asked once for the state of the leases believes what it saw.
REMEMBERS = """
from refbus.driver import serve
from refbus.worker import bus

class Remembers(bus.WorkerBus):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen = {}

    def poll(self, agent_id, **params):
        found = self.seen.get(agent_id)
        if found is None or found["messages"]:
            found = self.seen[agent_id] = super().poll(agent_id, **params)
        return found

if __name__ == "__main__":
    serve({"worker": Remembers})
"""


@pytest.fixture
def fleet(warm: Warm) -> Iterator[Fleet]:
    with closing(Fleet([warm.spec(reference("worker"))], system="worker")) as fleet:
        yield fleet


def _recalled(fleet: Fleet, *steps: Step) -> Step | None:
    with Stage(fleet, SPECIFICATION) as stage:
        recall = Recall(stage, random.Random(1))
        for number, step in enumerate([*OPENED, *steps]):
            step.name = str(number)
            place = len(stage.history)
            stage.do(step)
            recall.note(step, place)
        return recall.changed()


def test_a_poll_is_made_again_when_another_process_has_sent_something(fleet: Fleet) -> None:
    again = _recalled(fleet, POLLED, TOLD)
    assert again is not None
    assert (again.at, again.method, again.params) == (0, "poll", {"agent_id": "bob"})


def test_nothing_is_recalled_that_nobody_else_has_changed(fleet: Fleet) -> None:
    to_another = call(1, "publish", agent_id="ann", message={"type": "t", "to": "cleo"})
    assert _recalled(fleet, POLLED, POLLED) is None
    assert _recalled(fleet, POLLED, to_another) is None


def test_a_recall_that_was_played_is_counted_by_its_three_calls(fleet: Fleet) -> None:
    steps = [*OPENED, POLLED, TOLD, call(1, "liveness"), POLLED]
    seen = play(fleet, SPECIFICATION, steps, is_measured=True).seen
    assert ("poll", "publish", "poll") in seen.recalls
    assert not any("liveness" in recall for recall in seen.recalls)


def test_a_process_that_remembers_an_answer_is_found(tmp_path: Path) -> None:
    bus = tmp_path / "remembers.py"
    bus.write_text(REMEMBERS, encoding="utf-8")
    with closing(Fleet([f"exec:{shlex.join([sys.executable, str(bus)])}"], system="worker")) as forgetful:
        found = [one for one in search(forgetful, SPECIFICATION, seed=1, programs=20) if one.mismatch is not None]
        again = play(forgetful, SPECIFICATION, [*OPENED, POLLED, TOLD, POLLED])
    assert found
    assert again.mismatch is not None
    assert again.mismatch.step.method == "poll"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_store_may_be_in_a_folder_of_any_name(fleet: Fleet, folder: str) -> None:
    steps = [Step("store", params={"folder": folder}), *OPENED, TOLD, POLLED, call("hand", "stranger_deletes", seq=1)]
    program = play(fleet, SPECIFICATION, steps)
    assert program.mismatch is None, program.mismatch.told()
    assert program.seen.calls >= 2
