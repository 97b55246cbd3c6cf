"""A call is made again when others have changed what it does, and the kit counts that it was."""

from __future__ import annotations

import random
import shlex
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from busproof.bus.fleet import Fleet, reference
from busproof.bus.warm import Warm
from busproof.play.explore.drawing import FOLDERS
from busproof.play.explore.recall import Recall
from busproof.play.explore.script import Step, call
from busproof.play.explore.search import play, search
from busproof.play.explore.stage import Stage
from busproof.play.explore.worker import SPECIFICATION

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

ELSEWHERE = """
import os
from refbus.driver import serve
from refbus.worker import bus

class Elsewhere(bus.WorkerBus):
    def __init__(self, store, **options):
        os.makedirs(store + "-data", exist_ok=True)
        super().__init__(store + "-data", **options)

if __name__ == "__main__":
    serve({"worker": Elsewhere})
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


def test_what_a_process_did_itself_in_between_is_no_recall(fleet: Fleet) -> None:
    own = call(0, "publish", agent_id="ann", message={"type": "t", "to": "cleo"})
    seen = play(fleet, SPECIFICATION, [*OPENED, POLLED, TOLD, own, POLLED], is_measured=True).seen
    assert ("poll", "publish", "poll") not in seen.recalls


def test_an_earlier_call_is_made_around_one_that_changes_its_answer(fleet: Fleet) -> None:
    with Stage(fleet, SPECIFICATION) as stage:
        recall = Recall(stage, random.Random(1))
        for number, step in enumerate([*OPENED, POLLED]):
            step.name = str(number)
            place = len(stage.history)
            stage.do(step)
            recall.note(step, place)
        around = recall.around(TOLD)
        elsewhere = call(1, "publish", agent_id="ann", message={"type": "t", "to": "cleo"})
        assert around is not None
        assert (around.at, around.method) == (0, "poll")
        assert recall.around(elsewhere) is None


def test_an_argument_of_another_call_is_tried_where_it_changes_the_end(fleet: Fleet) -> None:
    claims = [call(0, "try_claim_task", task_id=task, agent_id="ann") for task in ("a", "b")]
    renews = call(0, "renew_claim", task_id="a", agent_id="ann")
    refused = call(0, "renew_claim", task_id="n" * 201, agent_id="ann")
    seen = play(fleet, SPECIFICATION, [OPENED[0], *claims, renews, refused], is_measured=True).seen
    assert ("renew_claim", "but task_id", "renew_claim:INVALID_ARGUMENT") in seen.recalls


def test_tables_in_another_folder_are_seen_though_all_else_works(tmp_path: Path) -> None:
    bus = tmp_path / "elsewhere.py"
    bus.write_text(ELSEWHERE, encoding="utf-8")
    with closing(Fleet([f"exec:{shlex.join([sys.executable, str(bus)])}"], system="worker")) as fleet:
        mismatch = play(fleet, SPECIFICATION, [*OPENED, TOLD, POLLED]).mismatch
        nothing = play(fleet, SPECIFICATION, [*OPENED, POLLED]).mismatch
    assert mismatch is not None
    assert mismatch.rows == ("worker.log.29",)
    assert nothing is None


def test_a_process_that_remembers_an_answer_is_found(tmp_path: Path) -> None:
    bus = tmp_path / "remembers.py"
    bus.write_text(REMEMBERS, encoding="utf-8")
    with closing(Fleet([f"exec:{shlex.join([sys.executable, str(bus)])}"], system="worker")) as forgetful:
        broken = [p for p in search(forgetful, SPECIFICATION, seed=1, programs=20) if p.mismatch is not None]
        again = play(forgetful, SPECIFICATION, [*OPENED, POLLED, TOLD, POLLED])
    assert broken
    assert again.mismatch is not None
    assert again.mismatch.step.method == "poll"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_store_may_be_in_a_folder_of_any_name(fleet: Fleet, folder: str) -> None:
    steps = [Step("store", params={"folder": folder}), *OPENED, TOLD, POLLED, call("hand", "stranger_deletes", seq=1)]
    program = play(fleet, SPECIFICATION, steps)
    assert program.mismatch is None, program.mismatch.told()
    assert program.seen.calls >= 2
