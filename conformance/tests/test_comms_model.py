"""The specification of comms, without a bus: it agrees with the decisions, and comparisons see every difference."""

from __future__ import annotations

from typing import Any

import pytest

from busproof.oracle.models.comms import CommsModel
from busproof.oracle.models.parts import text_of
from busproof.oracle.models.spec import Refusal
from busproof.play.explore.orders import Called, after

T0_MS = 1_768_053_600_000
NOTE: dict[str, Any] = {"message_type": "note", "payload": {"n": 1}}
ENVELOPE: dict[str, Any] = {
    "type": "note",
    "version": "1.0",
    "timestamp": text_of(T0_MS * 1000),
    "correlation_id": None,
    "from_agent": "a",
    "to_agent": "b",
    "channel": "general",
    "priority": 5,
    "payload": {"n": 1},
}


class Project:
    """A model with two processes and a clock."""

    def __init__(self, dialects: dict[str, str] | None = None) -> None:
        self.model, self.now_ms, self.step = CommsModel(CommsModel.EVERYTHING, {}, dialects or {}), T0_MS, 0
        for at in (0, 1):
            self.model.call(f"open{at}", at, "open", {"options": {}}, self.now_ms)

    def answer(self, method: str, **params: Any) -> Any:
        """The model's answer."""
        self.step += 1
        return self.model.call(str(self.step), 0, method, params, self.now_ms)

    def sent(self, to: str | None = "b", **more: Any) -> str:
        """Send as a; the id is bound as a bus would."""
        name = f"00000000-0000-4000-8000-{self.step:012}"
        answer = self.answer("send_message", from_agent="a", **({"to_agent": to} if to else {}), **NOTE, **more)
        assert answer.differs({"message_id": more.get("message_id", name)}) is None
        return str(more.get("message_id", name))

    def claims(self, agent: str, name: str) -> bool:
        """Is the claim granted?"""
        return bool(self.answer("claim_message", agent_id=agent, message_id=name).value["claimed"])

    def fails(self, agent: str, name: str) -> Any:
        """Claim and fail."""
        assert self.claims(agent, name)
        answer = self.answer("complete_message", agent_id=agent, message_id=name, error="it broke")
        self.now_ms += 10_000
        return answer.value["status"].value


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("looks", [("cleanup_expired_messages", {}), ("get_agent_health", {"agent_id": "a"})])
def test_a_claim_that_was_over_until_the_clock_was_set_back_is_as_the_bus_keeps_it(
    looks: tuple[str, dict[str, Any]], is_kept: bool
) -> None:
    """As pending, or by comparing times alone: the model follows the state that was shown."""
    project = Project()
    name = project.sent()
    project.answer("send_heartbeat", agent_id="a", status="idle")
    project.claims("b", name)
    project.now_ms += 60_000
    project.answer(looks[0], **looks[1])
    project.now_ms -= 1
    listed = [{**ENVELOPE, "id": name}] if is_kept else []
    shown = project.answer("receive_messages", agent_id="b", channels=["general"])
    assert shown.differs({"messages": listed}) is None
    assert project.claims("b", name) is is_kept


def test_a_claim_that_no_call_saw_over_goes_on_when_the_clock_is_set_back() -> None:
    project = Project()
    name = project.sent()
    project.claims("b", name)
    project.now_ms += 60_000
    project.now_ms -= 1
    assert project.claims("b", name) is False


def test_an_artifact_that_another_program_spoiled_is_what_it_says_or_refused_until_it_is_written_again() -> None:
    project = Project()
    path = project.answer("write_artifact", agent_id="a", task_id="t", content=1).value["artifact_path"]

    def read() -> Any:
        return project.answer("read_artifact", artifact_path=path)

    for text, seen in (("7", {"content": 7}), ("{", Refusal("BLOB_CORRUPT", True)), (None, Refusal("NOT_FOUND", True))):
        project.model.spoil_artifact(path, text)
        assert read().differs(seen) is None
        assert read().differs({"content": None}) is not None
        project.answer("write_artifact", agent_id="a", task_id="t", content=1)
        assert read().differs({"content": 1}) is None


def test_a_broadcasts_row_tells_nothing_of_its_readers() -> None:
    project = Project()
    project.claims("b", project.sent(None))
    (row,) = project.model.dump()["messages"].expected
    assert {name: row[name].value for name in ("delivery_count", "last_delivered_at", "error")} == {
        "delivery_count": 0,
        "last_delivered_at": None,
        "error": None,
    }


DUE_AGAIN = "completing what is due again"


@pytest.mark.parametrize(
    ("is_looked_at", "moved_ms", "may_be_refused", "may_be_failed"),
    [
        (False, 10_000, True, False),  # due by the clock
        (True, 10_000, True, False),
        (True, 0, True, True),  # it was due, until the clock was set back: only the bus knows what it kept
        (False, 0, False, True),
    ],
)
def test_completing_what_was_due_until_the_clock_was_set_back_is_refused_or_changes_nothing(
    is_looked_at: bool, moved_ms: int, may_be_refused: bool, may_be_failed: bool
) -> None:
    """By a bus that refuses to complete what is due again, and compares times whenever it is asked."""
    seen: dict[str, Any] = {
        "refused": Refusal("NOT_CLAIMED", definite=True),
        "failed": {"status": "failed"},
        "done": {"status": "done"},
    }
    right = set()
    for name, answer in seen.items():
        project = Project({DUE_AGAIN: "is refused"})
        message = project.sent()
        project.answer("send_heartbeat", agent_id="b", status="idle")
        project.fails("b", message)
        if is_looked_at:
            project.answer("get_agent_health", agent_id="b")
        project.now_ms += moved_ms - 10_000
        called = Called("1", 0, "complete_message", {"message_id": message}, project.now_ms, seen=answer)
        right |= {name} if after([project.model], [called])[0] else set()
    assert right == {name for name, may in (("refused", may_be_refused), ("failed", may_be_failed)) if may}


def test_while_only_the_jitter_knows_a_claim_may_go_either_way_and_is_followed() -> None:
    for granted in (True, False):
        project = Project()
        name = project.sent()
        project.claims("b", name)
        project.answer("complete_message", message_id=name, error="it broke")
        project.now_ms += 1_000
        answer = project.answer("claim_message", agent_id="b", message_id=name)
        assert answer.differs({"claimed": granted}) is None
        assert project.model.messages[0].of("b").status == ("processing" if granted else "failed")
        project.now_ms += 500
        assert project.claims("b", name) is not granted


def test_a_wrong_order_blames_the_order_and_a_strangers_message_the_route() -> None:
    project = Project()
    low, high, foreign = project.sent(priority=1), project.sent(priority=9), project.sent(to="c")
    shown = project.answer("receive_messages", agent_id="b", channels=["general"])
    rows = {name: {**_plain(project, name)} for name in (low, high, foreign)}
    assert shown.differs({"messages": [rows[high], rows[low]]}) is None
    assert shown.differs({"messages": [rows[low], rows[high]]}).rows == ("comms.route.07",)
    assert shown.differs({"messages": [rows[high], rows[low], rows[foreign]]}).rows == ("comms.route.05",)
    assert shown.differs({"messages": [rows[high]]}).rows == ("comms.route.04",)


def _plain(project: Project, name: str) -> dict[str, Any]:
    message = project.model.by_id(name)
    assert message is not None
    return {
        "id": name,
        "type": message.type,
        "version": "1.0",
        "timestamp": text_of(message.at_us),
        "from_agent": message.sender,
        "to_agent": message.to,
        "channel": message.channel,
        "priority": message.priority,
        "payload": message.payload,
    }


def test_an_indefinite_error_is_no_definite_refusal() -> None:
    answer = Project().answer("get_agent_health", agent_id="nobody")
    assert answer.differs(Refusal("NOT_FOUND", definite=True)) is None
    assert answer.differs(Refusal("NOT_FOUND", definite=False)).rows == ("comms.presence.07",)


@pytest.mark.parametrize(
    ("message", "errors", "is_right"),
    [
        (5, ["no object"], True),  # it has no member to be named
        (5, [], False),
        ({}, ["no object"], False),
    ],
)
def test_the_faults_of_an_envelope_are_named_by_its_members(message: Any, errors: list[str], is_right: bool) -> None:
    answer = Project().answer("validate_message", message=message)
    assert (answer.differs({"valid": False, "errors": errors}) is None) is is_right
