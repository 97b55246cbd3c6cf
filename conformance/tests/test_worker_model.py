"""The specification of worker, without a bus: it agrees with the seed, and comparisons see every difference."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from busproof.oracle.models.spec import Above, AnyOrder, FreshId, Json, Refusal, Told, differs, same_json
from busproof.oracle.models.worker import LOST, WorkerModel
from busproof.oracle.models.worker_parts import JsonText, Lines
from busproof.oracle.models.worker_values import depth, holds, tokens

T0_MS = 1_768_053_600_000
LIMITS = {"name_bytes_max": 200, "text_chars_max": 1024}


class Store:
    """A model that declares everything, one process on it."""

    def __init__(self, **options: Any) -> None:
        self.model, self.now_ms, self.step = WorkerModel(WorkerModel.EVERYTHING, LIMITS, {}), T0_MS, 0
        self.answer("open", options=options)

    def answer(self, method: str, at: int | str = 0, **params: Any) -> Any:
        """The model's answer."""
        self.step += 1
        return self.model.call(str(self.step), at, method, params, self.now_ms)

    def said(self, method: str, **params: Any) -> Any:
        """A reply, its free values bound as a bus would choose them."""
        answer = self.answer(method, **params)
        assert answer.refused is None, answer
        return _chosen(answer.value)

    def published(self, text: Any, to: str | None = None, agent: str = "a", **more: Any) -> Any:
        """The seq of a new message."""
        message = {"type": "t", "payload": text, **({"to": to} if to else {}), **more}
        return self.said("publish", agent_id=agent, message=message)["seq"]


def _chosen(value: Any) -> Any:
    if isinstance(value, Above):
        low = value.low.value if isinstance(value.low, Above) else value.low
        value.takes(low + 1)
        return value.value
    if isinstance(value, FreshId):
        value.takes("550e8400-e29b-41d4-a716-446655440000")
        return value.value
    if isinstance(value, dict):
        return {key: _chosen(member) for key, member in value.items()}
    if isinstance(value, AnyOrder):
        return _chosen(value.value)
    return (
        [_chosen(member) for member in value]
        if isinstance(value, list)
        else _chosen(value.value)
        if _is_part(value)
        else value
    )


def _is_part(value: Any) -> bool:
    return hasattr(value, "value") and not isinstance(value, Above | FreshId)


def test_a_mirror_that_was_spoiled_is_whole_after_the_next_change_at_the_latest() -> None:
    store = Store()
    store.said("transition", worker="w", to_state="ASSIGNED")
    store.said("spoil_mirror", at="hand", worker="w", content=None)
    assert store.said("worker_state", worker="w")["state"] == "ASSIGNED"
    assert store.answer("worker_file", at="hand", worker="w").differs({"state": None}) is None
    store.said("transition", worker="w", from_state="ASSIGNED", to_state="WORKING")
    assert store.answer("worker_file", at="hand", worker="w").differs({"state": None}) is not None


def test_two_loops_at_once_may_come_in_between_each_other() -> None:
    store = Store(deliveries_max=3)
    store.published("x", id="m")
    parts = store.model.steps("p", 0, "process_loop", {"agent_id": "a"}, T0_MS)
    assert next(parts) is None  # polled
    other = store.said("process_loop", agent_id="a")
    *_, answer = parts
    assert other["handled"] == _chosen(answer.value)["handled"] == ["m"]


@pytest.mark.parametrize(
    ("row", "other", "ending"),
    [("worker.lease.07", "live", {"claimed": False}), ("worker.lease.07", "expired", {"claimed": True})],
)
def test_what_the_seed_leaves_open_is_a_parameter(row: str, other: str, ending: dict[str, Any]) -> None:
    store = Store(lease_ms=10)
    store.model.dialects = {row: other}
    store.said("try_claim_task", task_id="t", agent_id="a")
    store.now_ms += 10
    assert store.said("try_claim_task", task_id="t", agent_id="b")["claimed"] is ending["claimed"]
    assert row in store.model.consulted


@pytest.mark.parametrize(("choice", "moved_ms"), [("of the last ack", 5), ("of the last move", 0)])
def test_an_ack_that_moves_nothing_may_be_told_or_not(choice: str, moved_ms: int) -> None:
    """The seed's statement writes its time; "backwards changes nothing" can be read as not."""
    store = Store()
    store.model.dialects = {"the time of a cursor that stays": choice}
    store.said("ack", agent_id="a", seq=store.published("x"))
    store.now_ms += 5
    store.said("ack", agent_id="a", seq=0)
    assert store.said("dump")["cursors"][0]["updated_at_ms"] == T0_MS + moved_ms


def test_a_search_may_read_what_is_there_now() -> None:
    """Nobody says when an index is made: a bus without one no longer finds the words of a blob that is lost."""
    for choice, count in (("made by the first search", 1), ("made by each search", 0)):
        store = Store()
        store.model.dialects = {"search index": choice}
        store.published("alpha " + "x" * 5000)
        assert len(store.said("search", query="alpha")["messages"]) == 1
        (ref,) = store.model.blobs
        store.model.harm[ref] = LOST
        assert len(store.said("search", query="alpha")["messages"]) == count


def test_a_refusal_must_be_definite_and_a_reply_whole() -> None:
    store = Store()
    answer = store.answer("ack", agent_id="a", seq=5)
    assert answer.differs(Refusal("INVALID_ARGUMENT", True)) is None
    assert answer.differs(Refusal("INVALID_ARGUMENT", False)).rows == ("worker.cursor.09",)
    assert answer.differs({"last_acked_seq": 0}).rows == ("worker.cursor.09",)
    store.published(1, id="m")
    poll = store.answer("poll", agent_id="b")
    whole = _chosen(poll.value)
    assert poll.differs(whole) is None
    assert poll.differs({"messages": [whole["messages"][0] | {"payload": 2}]}).rows == ("worker.log.19",)
    assert poll.differs({"messages": []}).path == "reply.messages"


def test_a_free_value_is_the_same_ever_after() -> None:
    seq = Above("1.seq1", 4)
    assert differs({"seq": seq}, {"seq": 4}) is not None
    assert differs({"seq": seq}, {"seq": 9}) is None
    assert differs({"seq": seq}, {"seq": 10}) is not None
    assert differs({"seq": Told(seq)}, {}) is None
    assert differs(FreshId("1.id1"), "not a UUID") is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=5,
)


@given(JSON, JSON)
def test_json_values_are_compared_as_json(a: Any, b: Any) -> None:
    assert same_json(a, a)
    assert same_json(a, b) is same_json(b, a)
    assert differs(Json(a), a) is None
    assert not same_json([1], [True])
    assert not same_json({"n": 0}, {"n": None})


def test_words_and_depths() -> None:
    assert tokens("Éclair x-ray state_change") == ["eclair", "x", "ray", "state", "change"]
    assert holds(["a", "x", "ray"], ["x", "ray"])
    assert not holds(["ray", "x"], ["x", "ray"])
    assert [depth(1), depth([]), depth([{"a": []}])] == [0, 1, 3]


@pytest.mark.parametrize(
    ("seen", "broken"),
    [
        (["not JSON: {{", {"seq": 2}], "no line"),
        ([{"seq": 2}], "missing"),
        ([{"seq": 1}, {"seq": 2}, {"seq": 1}], "doubled"),
        ([{"seq": 2}, {"seq": 1}], "order"),
        ([{"seq": 1, "id": "m2"}, {"seq": 2}], "content"),
        ([{"seq": 1, "id": "m1"}, {"seq": 2}], None),
    ],
)
def test_what_is_wrong_with_the_lines_of_an_export_says_whose_sentence_is_broken(seen: Any, broken: str | None) -> None:
    """A torn line is no disorder, and a line too many no torn one."""
    rows = {name: name.replace("_", " ") for name in ("no_line", "missing", "order", "content")}
    difference = Lines([{"seq": 1, "id": "m1"}, {"seq": 2}], doubled=("doubled",), **rows).differs(seen, "lines", ())
    assert (difference and difference.rows) == (broken and (broken,))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_a_stored_payload_may_be_spaced_and_escaped_in_any_way_and_must_be_that_value(value: Any, other: Any) -> None:
    """Compact or wide, in ASCII or not; another value is a difference, however it is written."""
    stored = JsonText(json.dumps(value), "note")
    for how in ({"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}):
        assert differs(stored, json.dumps(value, **how)) is None
    assert (differs(stored, json.dumps(other)) is None) is same_json(value, other)


def test_only_an_announcement_may_say_more_than_its_two_states() -> None:
    """A message of that type with other members, which anybody may publish, is that value."""
    moved, more = '{"from": null, "to": "ASSIGNED"}', '{"from": null, "to": "ASSIGNED", "worker": "w"}'
    assert differs(JsonText(moved, "state_change"), more) is None
    assert differs(JsonText(moved, "state_change"), more.replace("ASSIGNED", "WORKING"))
    assert differs(JsonText(moved, "note"), more)
    assert differs(JsonText('{"n": 1}', "state_change"), '{"n": 1, "m": 2}')


def test_search_results_may_come_in_any_order_unless_some_are_left_out() -> None:
    """No sentence orders them; a limit keeps the oldest."""
    store = Store()
    for n in range(3):
        store.published(f"word {n}")
    both = store.said("search", query="word")["messages"]
    answer = store.answer("search", query="word")
    assert answer.differs({"messages": both[::-1]}) is None
    assert answer.differs({"messages": both[:2]})
    limited = store.answer("search", query="word", limit=2)
    assert limited.differs({"messages": both[:2]}) is None
    assert limited.differs({"messages": both[1:]})


def test_a_state_of_another_name_is_refused_with_either_code_and_definitely() -> None:
    for state in ("working", ""):
        answer = Store().answer("transition", worker="w", to_state=state)
        for code in ("INVALID_ARGUMENT", "STATE_CONFLICT"):
            assert answer.differs(Refusal(code, definite=True)) is None
        assert answer.differs(Refusal("INTERNAL", definite=True))
        assert answer.differs(Refusal("STATE_CONFLICT", definite=False))


def test_a_bus_may_not_know_lease_ms() -> None:
    """Then its leases last as long as without it, and no value of it is refused."""
    model = WorkerModel(WorkerModel.EVERYTHING, LIMITS, {"options: lease_ms": "is not known"})
    model.call("1", 0, "open", {"options": {"lease_ms": 0}}, T0_MS)
    claimed = model.call("2", 0, "try_claim_task", {"task_id": "t", "agent_id": "a"}, T0_MS)
    assert claimed.differs({"claimed": True, "token": 1, "lease_until_ms": T0_MS + 60_000}) is None
    assert claimed.differs({"claimed": True, "token": 1, "lease_until_ms": T0_MS})


@pytest.mark.parametrize("name", ["n" * 200, "\u00e9" * 100])
def test_a_bus_that_takes_a_long_name_for_too_long_is_told_the_limit_that_it_declares_first(name: str) -> None:
    store, refusal = Store(), Refusal("INVALID_ARGUMENT", True, "too long")
    difference = store.answer("publish", agent_id=name, message={"type": "t"}).differs(refusal)
    assert difference is not None
    assert difference.rows[0] == "worker.limit.18"
    difference = store.answer("publish", agent_id="ann", message={"type": "t"}).differs(refusal)
    assert difference is not None
    assert "worker.limit.18" not in difference.rows
