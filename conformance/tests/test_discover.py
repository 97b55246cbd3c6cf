"""`busproof discover` proposes what a bus keeps, and tells what the bus keeps sometimes."""

import sys
import time
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from busproof.bus.child import Household
from busproof.bus.doors import BusSpecError
from busproof.bus.toml.form import declared, load
from busproof.play.discover import Probes, Told, main, page

EXAMPLES = Path(__file__).parents[1] / "examples"


class Toy:
    """A mailbox in this process; a test changes one of its habits."""

    inboxes: dict[str, list[dict[str, Any]]]
    sends: int

    def hello(self, **_: Any) -> dict[str, Any]:
        return {}

    def open(self, **_: Any) -> None:
        """All doors see one store."""

    def send(self, agent_id: str, to: str, body: str, key: str | None = None) -> dict[str, Any]:
        type(self).sends += 1
        again = [row for row in self.inboxes[to] if key and row["key"] == (agent_id, key)]
        if again and not self.forgets_a_key():
            return {"id": again[0]["id"]}
        row = {"id": str(self.sends), "body": body, "key": (agent_id, key)}
        self.inboxes[to].append(row)
        return {"id": row["id"]}

    def forgets_a_key(self) -> bool:
        return False

    def receive(self, agent_id: str, limit: int, **_: Any) -> dict[str, Any]:
        return {"messages": [dict(row) for row in self.inboxes[agent_id][:limit]]}

    def ack(self, agent_id: str, ids: list[str]) -> None:
        self.inboxes[agent_id][:] = [row for row in self.inboxes[agent_id] if row["id"] not in ids]


class ForgetsAKey(Toy):
    forgotten = 0

    def forgets_a_key(self) -> bool:
        type(self).forgotten += 1
        return self.forgotten == 4


class AcksAll(Toy):
    def ack(self, agent_id: str, ids: list[str]) -> None:
        self.inboxes[agent_id].clear()


class Cumulative(Toy):
    def ack(self, agent_id: str, ids: list[str]) -> None:
        place = max(number for number, row in enumerate(self.inboxes[agent_id]) if row["id"] in ids)
        del self.inboxes[agent_id][: place + 1]


class Dies(Toy):
    def ack(self, agent_id: str, ids: list[str]) -> None:
        error = ValueError("gone")
        error.code = "LOST"  # type: ignore[attr-defined]
        raise error


class OneKeyForAll(Toy):
    def send(self, agent_id: str, to: str, body: str, key: str | None = None) -> dict[str, Any]:
        return super().send(agent_id, to, body, key and "the same")


def prober(bus: type[Toy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float = 600) -> Probes:
    """The probes of a toy."""
    bus.inboxes, bus.sends = defaultdict(list), 0
    monkeypatch.setattr(sys.modules[__name__], "factory", bus, raising=False)
    monkeypatch.setitem(sys.modules, "toy_mailbox", sys.modules[__name__])
    return Probes("py:toy_mailbox", tmp_path, Household(), time.monotonic() + seconds)


def probed(bus: type[Toy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Told]:
    """What the probes say, by promise."""
    return {answer.promise: answer for answer in prober(bus, tmp_path, monkeypatch).run()}


def test_what_is_kept_each_time_is_proposed_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file can be read as it is."""
    lines = list(page("toy", prober(Toy, tmp_path, monkeypatch)))
    text = "\n".join(lines)
    assert tomllib.loads(text)["promises"] == {
        "ack": True,
        "arrival": True,
        "key": True,
        "self_delivery": True,
        "durability": "process-crash",
    }
    assert "# 10 of 10: a send again with its key" in text
    silent = dict(line.removeprefix("# ").rsplit(": ", 1) for line in lines[-4:])
    assert set(silent) == {
        "Tried, and not kept once",
        "No probe tries",
        "Not tried, as the bus has no `claim` (in bus.toml: no [claim])",
        "Not tried, as the bus has no `put` (in bus.toml: no [put])",
    }, silent


def test_what_the_time_was_too_short_for_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not as a promise that was tried."""
    lines = list(page("toy", prober(Toy, tmp_path, monkeypatch, seconds=0)))
    late = next(line for line in lines if line.startswith("# Not tried, as the time was over (--seconds): "))
    assert "wait" in late


class Drops(Toy):
    """An inbox keeps a hundred."""

    def receive(self, agent_id: str, limit: int, **_: Any) -> dict[str, Any]:
        self.inboxes[agent_id][:] = self.inboxes[agent_id][-100:]
        return super().receive(agent_id, limit)


class Pages(Toy):
    """An answer has a hundred at most."""

    def receive(self, agent_id: str, limit: int, **_: Any) -> dict[str, Any]:
        return super().receive(agent_id, min(limit, 100))


def test_a_page_goes_on_and_a_loss_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After what was shown is acked, the next answer shows the rest; where it shows none of it, no page is proposed."""
    assert probed(Pages, tmp_path, monkeypatch)["page_max"].value == 100
    answers_of = probed(Drops, tmp_path, monkeypatch)
    assert "page_max" not in answers_of and answers_of["all that waits is shown"].kept == 0


def test_a_promise_that_is_kept_nine_times_in_ten_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not proposed."""
    answer = probed(ForgetsAKey, tmp_path, monkeypatch)["key"]
    assert next(answer.lines()).startswith("# key = true")
    assert "9 of 10: a send again with its key" in next(answer.lines())


def test_a_probe_whose_control_fails_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ack that clears the inbox is no ack of one message; one key for all sends is no key."""
    answer = probed(AcksAll, tmp_path, monkeypatch)["ack"]
    assert (answer.times, answer.evidence) == (0, "10 of 10 times a later message was gone, too")
    answer = probed(OneKeyForAll, tmp_path, monkeypatch)["key"]
    assert (answer.times, answer.evidence) == (0, "a send with another key is the same message, too")


def test_an_ack_that_takes_earlier_messages_along_is_cumulative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that does not is not."""
    assert probed(Cumulative, tmp_path, monkeypatch)["cumulative_ack"].kept == 10
    assert "cumulative_ack" not in probed(Toy, tmp_path, monkeypatch)


def test_the_first_call_that_is_not_answered_is_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was seen before stands."""
    answers_of = probed(Dies, tmp_path, monkeypatch)
    assert list(answers_of)[-1] == "the rest"
    assert "nothing more was asked: ack: LOST: gone" in answers_of["the rest"].evidence
    lines = list(page("toy", prober(Dies, tmp_path, monkeypatch)))
    assert any(line.startswith("# Not tried, as the bus did not answer: ") and "wait" in line for line in lines)
    assert "key" not in answers_of and "consumes" in answers_of


def test_a_bus_that_cannot_be_opened_leaves_no_file(tmp_path: Path) -> None:
    """Else the next try, with the name spelt right, would be refused for the file."""
    out = tmp_path / "promises.toml"
    with pytest.raises(BusSpecError):
        main(["--bus", f"toml:{tmp_path / 'typo.toml'}", "--out", str(out)])
    assert not out.exists()


@pytest.mark.parametrize("name", ["cli", "mcp", "http"])
def test_the_probes_find_what_the_mapped_examples_promise(name: str, tmp_path: Path) -> None:
    """Through the real door. The end of the time is far: a busy machine takes minutes for what takes a moment here."""
    file = EXAMPLES / f"mapped_{name}/bus.toml"
    household = Household()
    began = time.monotonic()
    answers_of = list(Probes(f"toml:{file}", tmp_path, household, began + 600).run())
    assert household.end() == []
    seen = {answer.promise for answer in answers_of if answer.times and answer.kept == answer.times}
    asked = {answer.promise for answer in answers_of if answer.times}
    promised = set(declared(load(file))["features"]) - {"unacked"}
    assert promised - seen == set()
    assert seen - promised <= {"arrival", "self_delivery", "durability", "fifo"}
    assert asked >= {"consumes", "durability"}
