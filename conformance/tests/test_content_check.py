"""What a message holds, who has it in hand, and how long: one answer of a real history is altered, and found."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from busproof.bus.fleet import Fleet, reference
from busproof.contract.history import scan
from busproof.oracle.checks.extract.digest import digest
from busproof.systems import play, run_checks

Events = list[dict[str, Any]]
CALLS = {"worker": 200, "comms": 400, "relay": 200, "timeline": 400, "topics": 200}
LEASE_MS = 60_000


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Events]:
    """A workload of each reference, played once; a copy each time."""

    @cache
    def played(system: str) -> Events:
        into = tmp_path_factory.mktemp("history") / f"{system}.jsonl"
        with contextlib.closing(Fleet([reference(system)], system=system)) as fleet:
            play(fleet, seed=3, calls=CALLS[system], into=into)
        return [json.loads(line) for line in into.read_text().splitlines()]

    return lambda system: copy.deepcopy(played(system))


def kinds_of(events: Events, tmp_path: Path) -> set[str]:
    """The kinds of violation in these events, numbered anew."""
    path = tmp_path / "history.jsonl"
    body = events[:-1]
    states = sum(event["type"] == "state" for event in body)
    foot = {**events[-1], "value": {"events": len(body), "states": states}}
    path.write_text("".join(json.dumps({**event, "index": n}) + "\n" for n, event in enumerate([*body, foot])))
    return {witness.kind for verdict in run_checks(scan(path)) for witness in verdict.witnesses}


def answers(events: Events, op: str) -> Events:
    """Its answers."""
    return [event for event in events if event.get("op") == op and event["type"] == "ok"]


def rows(events: Events, key: str) -> list[dict[str, Any]]:
    """Those of a list of the final state."""
    return [event["value"] for event in events if event["type"] == "state" and event["key"] == key]


def listed(events: Events, op: str, name: str) -> list[dict[str, Any]]:
    """The messages of all answers to it."""
    return [row for event in answers(events, op) for row in event["value"][name]]


def fetched(events: Events) -> list[dict[str, Any]]:
    """The messages of all fetches that got one."""
    return [event["value"]["message"] for event in answers(events, "fetch") if event["value"]["message"]]


def of_inbox(events: Events) -> list[dict[str, Any]]:
    return [row for row in rows(events, "messages") if "body" in row]


SHOWN: dict[str, tuple[str, Callable[[Events], list[dict[str, Any]]], dict[str, object]]] = {
    "a polled payload": ("worker", lambda of: listed(of, "poll", "messages"), {"payload": {"fill": "another's"}}),
    "a polled type": ("worker", lambda of: listed(of, "poll", "messages"), {"type": "other"}),
    "a polled sender": ("worker", lambda of: listed(of, "poll", "messages"), {"from_agent": "cy?"}),
    "a stored payload": (
        "worker",
        lambda of: [row for row in rows(of, "messages") if row["payload_ref"] is None],
        {"payload": "{}"},
    ),
    "a received payload": ("comms", lambda of: listed(of, "receive_messages", "messages"), {"payload": {"x": 1}}),
    "a received sender": ("comms", lambda of: listed(of, "receive_messages", "messages"), {"from_agent": "agent-99"}),
    "a stored priority": ("comms", lambda of: rows(of, "messages"), {"priority": 11}),
    "a delivered body": ("relay", of_inbox, {"body": "cut"}),
    "a fetched payload": ("timeline", fetched, {"payload": "another's"}),
    "a received body": ("topics", lambda of: listed(of, "sync", "received"), {"content_markdown": "another's"}),
    "a body in the final state": ("topics", lambda of: rows(of, "messages"), {"content_markdown": "x"}),
}


@pytest.mark.parametrize("what", SHOWN)
def test_a_message_that_reads_otherwise_in_one_place_is_altered(
    events: Callable[[str], Events], what: str, tmp_path: Path
) -> None:
    """The last place of all; nothing else is wrong with most of them."""
    system, shown, change = SHOWN[what]
    history = events(system)
    assert kinds_of(history, tmp_path) == set()
    shown(history)[-1].update(change)
    kinds = kinds_of(history, tmp_path)
    assert "altered" in kinds
    assert kinds <= {"altered", "chain_broken"}


def test_a_dead_letter_reads_as_it_was_sent(events: Callable[[str], Events], tmp_path: Path) -> None:
    """Its `original_message` is JSON text."""
    history = events("comms")
    letter = rows(history, "dead_letter_queue")[0]
    letter["original_message"] = json.dumps(json.loads(letter["original_message"]) | {"priority": 11})
    assert kinds_of(history, tmp_path) == {"altered"}


@pytest.mark.parametrize("name", ["hash", "previous", "time_us"])
def test_a_link_of_the_chain_that_does_not_fit_is_found(
    events: Callable[[str], Events], tmp_path: Path, name: str
) -> None:
    """The hash covers the fields of its message, and the next one follows it."""
    history = events("timeline")
    row = next(row for row in rows(history, "messages") if row["number"] == 2)
    row[name] = row[name] + 1 if name == "time_us" else "f" * 64
    assert kinds_of(history, tmp_path) == {"chain_broken"}


def test_a_fork_follows_the_message_it_was_made_at(events: Callable[[str], Events], tmp_path: Path) -> None:
    """Another hash of its parent is none; the fork's own hash is computed with it."""
    history = events("timeline")
    fork = next(row for row in rows(history, "messages") if row["key"]["type"] == "fork" and row["payload"]["at"])
    fork["payload"]["at"] += 1
    assert "chain_broken" in kinds_of(history, tmp_path)


def test_other_content_under_a_key_is_not_accepted(events: Callable[[str], Events], tmp_path: Path) -> None:
    """It must be refused, but was answered as a repetition."""
    history = events("timeline")
    refused = next(event for event in history if event["type"] == "fail" and event["op"] == "send")
    stored = next(
        event["value"] for event in answers(history, "send") if event["value"]["subject"] in refused["value"]["message"]
    )
    refused.update(type="ok", value=stored | {"duplicate": True})
    del refused["code"]
    assert kinds_of(history, tmp_path) == {"differs"}


def test_a_worker_gets_what_its_filter_asks_for(events: Callable[[str], Events], tmp_path: Path) -> None:
    """And nothing of another service."""
    history = events("timeline")
    at = next(
        n
        for n, event in enumerate(history)
        if event["type"] == "ok" and event["op"] == "fetch" and event["value"]["message"]
    )
    asked = next(e for e in reversed(history[:at]) if e["type"] == "invoke" and e["process"] == history[at]["process"])
    asked["value"]["filter"]["service"] = "none"
    assert kinds_of(history, tmp_path) == {"channel_not_asked"}


def again(history: Events, *, wall_ms: int, before_ack: bool) -> Events:
    """A message that was acknowledged is fetched once more, so long after its first fetch began."""
    at, ack = next((n, event) for n, event in enumerate(history) if event["type"] == "invoke" and event["op"] == "ack")
    first = next(
        n
        for n, event in enumerate(history)
        if event["type"] == "ok"
        and event["op"] == "fetch"
        and (event["value"]["message"] or {}).get("delivery") == ack["value"]["delivery"]
    )
    asked = next(
        e for e in reversed(history[:first]) if e["type"] == "invoke" and e["process"] == history[first]["process"]
    )
    asked_ms = asked["wall_ms"]
    more = copy.deepcopy([asked, history[first]])
    more[1]["value"]["message"] |= {"delivery": "more", "delivery_count": 2}
    for event in more:
        event["process"], event["wall_ms"] = 99, asked_ms + wall_ms
    end = next(n for n, event in enumerate(history) if n > at and event["process"] == ack["process"])
    place = at if before_ack else end + 1
    return [*history[:place], *more, *history[place:]]


def test_two_workers_have_not_one_message_at_once(events: Callable[[str], Events], tmp_path: Path) -> None:
    """Until its time is over, by any clock."""
    assert kinds_of(again(events("timeline"), wall_ms=29_999, before_ack=True), tmp_path) == {"overlap"}
    assert kinds_of(again(events("timeline"), wall_ms=30_000, before_ack=True), tmp_path) == set()


def test_without_the_options_of_its_sessions_nobody_knows_how_long_a_message_is_in_hand(
    events: Callable[[str], Events], tmp_path: Path
) -> None:
    """`ack_wait_ms` may have been an hour, or a second."""
    history = again(events("timeline"), wall_ms=29_000, before_ack=True)
    del history[0]["value"]["options"]
    assert kinds_of(history, tmp_path) == set()
    history[0]["value"]["options"] = {"ack_wait_ms": 1_000}
    assert kinds_of(history, tmp_path) == set()


def test_an_acknowledged_message_never_comes_again(events: Callable[[str], Events], tmp_path: Path) -> None:
    """At no time; except that a server was killed meanwhile (T23)."""
    history = again(events("timeline"), wall_ms=10**6, before_ack=False)
    assert kinds_of(history, tmp_path) == {"claimed_after_done"}
    place = next(n for n, event in enumerate(history) if event["process"] == 99)
    killed = {**history[place], "type": "nemesis", "op": "kill_server", "process": -1, "value": {}}
    assert kinds_of([*history[:place], killed, *history[place:]], tmp_path) == set()


@pytest.mark.parametrize("number", [0, 1], ids=["the first fetch", "the second fetch"])
def test_a_server_killed_while_it_is_asked_may_count_deliveries_anew(
    number: int, events: Callable[[str], Events], tmp_path: Path
) -> None:
    """Whichever of two fetches it was asked by: nobody knows whether the old server answered, or the new one."""
    history = again(events("timeline"), wall_ms=30_000, before_ack=True)
    second = next(n for n, event in enumerate(history) if event["process"] == 99 and event["type"] == "ok")
    shown = history[second]["value"]["message"]
    shown["delivery_count"] = 1
    assert kinds_of(history, tmp_path) == {"token_not_rising"}
    answers_of = [
        n
        for n, event in enumerate(history[: second + 1])
        if event["type"] == "ok"
        and event["op"] == "fetch"
        and (event["value"]["message"] or {}).get("subject") == shown["subject"]
    ]
    place = answers_of[number]
    killed = {**history[place], "type": "nemesis", "op": "kill_server", "process": -1, "value": {}}
    assert kinds_of([*history[:place], killed, *history[place:]], tmp_path) == set()


def test_a_completed_message_is_not_shown_again(events: Callable[[str], Events], tmp_path: Path) -> None:
    """To the agent that completed it."""
    history = events("comms")
    done = next(e for e in answers(history, "complete_message") if e["value"].get("status") == "done")
    shown = next(row for row in listed(history, "receive_messages", "messages") if row["id"] == done["key"])
    later = next(
        event
        for event in reversed(answers(history, "receive_messages"))
        if event["agent"] == done["agent"] and event["index"] > done["index"]
    )
    later["value"]["messages"] = [shown]
    assert "shown_after_done" in kinds_of(history, tmp_path)


def test_a_full_page_says_whether_more_is_left(events: Callable[[str], Events], tmp_path: Path) -> None:
    """Else it lacks what had been acknowledged before the sync began."""
    history = events("topics")
    for page in answers(history, "sync"):
        page["value"]["has_more"] = False
    assert kinds_of(history, tmp_path) == {"stale"}


@pytest.mark.parametrize(
    ("system", "op"), [("worker", "renew_claim"), ("worker", "try_claim_task"), ("comms", "claim_message")]
)
def test_a_lease_runs_for_its_whole_time(events: Callable[[str], Events], tmp_path: Path, system: str, op: str) -> None:
    """By the clock that the kit has set."""
    history = events(system)
    granted = next(event for event in reversed(answers(history, op)) if event.get("lease_until_ms"))
    granted["lease_until_ms"] = granted["value"]["lease_until_ms"] = granted["bus_ms"] + LEASE_MS - 1
    assert "lease_too_short" in kinds_of(history, tmp_path)


FINITE = st.floats(allow_nan=False, allow_infinity=False)  # JSON has no others
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | FINITE | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def turned(value: Any) -> Any:
    """The same value, as another language would tell it: members in another order, and no `.0`."""
    if isinstance(value, dict):
        return {name: turned(value[name]) for name in reversed(value)}
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return [turned(member) for member in value] if isinstance(value, list) else value


@given(JSON)
def test_the_same_json_has_one_digest_in_any_language(value: Any) -> None:
    """Also through JSON text."""
    same = turned(json.loads(json.dumps(value)))
    assert digest(value) == digest(same)


@given(JSON, JSON)
def test_other_json_has_another(value: Any, other: Any) -> None:
    """`true` is not 1."""
    assert (json.dumps(turned(value), sort_keys=True) == json.dumps(turned(other), sort_keys=True)) == (
        digest(value) == digest(other)
    )
