"""`topics`: Spark and Python agree on a real history, and on what is left of it after damage of each kind."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from busproof.checks import CHECKS
from busproof.fleet import Fleet, reference
from busproof.history import read
from busproof.systems import play
from busproof.systems import run_checks as run_in_python
from busspark import topics_streams
from busspark.checks import run_checks as run_in_spark
from busspark.facts import read_facts

Events = list[dict[str, Any]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six sessions on the reference's MCP server."""
    fleet = Fleet([reference("topics")], system="topics")
    try:
        return play(fleet, seed=11, calls=300, into=tmp_path_factory.mktemp("topics") / "history.jsonl")
    finally:
        fleet.close()


def dump(events: Events) -> Events:
    """The messages of the final state."""
    (found,) = [event for event in events if event.get("op") == "dump" and event["type"] == "ok"]
    messages: Events = found["value"]["messages"]
    return messages


def answers(events: Events, least: int, many: int = 3) -> Events:
    """Some answers of syncs that received so many messages at least."""
    found = [
        event
        for event in events
        if event.get("op") == "sync" and event["type"] == "ok" and len(event["value"]["received"]) >= least
    ]
    return found[:: max(1, len(found) // many)][:many]


def lost(events: Events) -> None:
    dump(events).pop(20)


def gap(events: Events) -> None:
    for message in dump(events)[10:]:
        message["seq"] += message["topic_id"] == dump(events)[0]["topic_id"]


def doubled(events: Events) -> None:
    dump(events).append({**dump(events)[3], "message_id": "another", "seq": 10_000})


def phantom(events: Events) -> None:
    dump(events).append({**dump(events)[3], "client_message_id": "nobody's", "seq": 10_000})


def skipped(events: Events) -> None:
    for answer in answers(events, 3):
        answer["value"]["received"].pop(1)


def unordered(events: Events) -> None:
    for answer in answers(events, 2):
        answer["value"]["received"].reverse()


def own_message(events: Events) -> None:
    for answer in answers(events, 1):
        answer["value"]["received"][0]["sender"] = answer["agent"]


def cursor_ran_ahead(events: Events) -> None:
    for answer in answers(events, 0, 6):
        answer["value"]["cursor"]["last_seq"] += 3


def stale(events: Events) -> None:
    for answer in answers(events, 1):
        answer["value"]["received"] = []
        answer["value"]["cursor"]["last_seq"] = 0


def order_reversed(events: Events) -> None:
    sent = [e for e in events if e.get("op") == "sync" and e["type"] == "ok" and e["value"]["sent"]]
    early, late = (event["value"]["sent"][0]["message"] for event in (sent[2], sent[-2]))
    early["seq"], late["seq"] = late["seq"], early["seq"]


def refused_but_stored(events: Events) -> None:
    for answer in [e for e in answers(events, 0, 100) if e["value"]["sent"]][:2]:
        answer["type"] = "fail"


# damage → the check that must find it
DAMAGES: dict[Callable[[Events], None], str] = {
    lost: "topic_durable",
    gap: "topic_order",
    doubled: "topic_durable",
    phantom: "topic_durable",
    skipped: "topic_delivery",
    unordered: "topic_delivery",
    own_message: "topic_delivery",
    cursor_ran_ahead: "topic_delivery",
    stale: "topic_delivery",
    order_reversed: "topic_order",
    refused_but_stored: "topic_durable",
}


def test_a_real_history_is_valid_for_both(spark: SparkSession, recorded: Path, tmp_path: Path) -> None:
    """And once more from Parquet."""
    in_python = run_in_python(read(recorded))
    history = topics_streams.read(spark, recorded)
    assert run_in_spark(history) == in_python
    assert {verdict.verdict for verdict in in_python} == {"valid"}
    history.write(tmp_path / "parquet")
    facts = read_facts(tmp_path / "parquet")
    assert [check(facts) for check in CHECKS["topics"].values()] == in_python


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_both_find_the_damage(
    spark: SparkSession, recorded: Path, tmp_path: Path, damage: Callable[[Events], None]
) -> None:
    """The check that must fail does, with the same witnesses on both sides."""
    events = copy.deepcopy([json.loads(line) for line in recorded.read_text().splitlines()])
    damage(events)
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    in_python = run_in_python(read(path))
    assert {v.check: v.verdict for v in in_python}[DAMAGES[damage]] == "invalid"
    assert run_in_spark(topics_streams.read(spark, path)) == in_python


def test_a_reader_that_resets_its_cursor_is_not_followed(spark: SparkSession, recorded: Path, tmp_path: Path) -> None:
    """It may receive anything again. The others are still followed."""
    events = [json.loads(line) for line in recorded.read_text().splitlines()]
    first, *others = [answer for answer in answers(events, 3, 6) if answer["agent"] != "ann"]
    other = next(answer for answer in others if answer["agent"] != first["agent"])
    for answer in (first, other):
        answer["value"]["received"].pop(1)
    how = {"topic_id": first["value"]["received"][0]["topic_id"], "last_seq": 0}
    reset = {**first, "process": 99, "op": "cursor_reset"}
    events[-1:-1] = [{**reset, "type": "invoke", "value": how}, {**reset, "type": "ok", "value": {}}]
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps({**event, "index": n}) + "\n" for n, event in enumerate(events)))
    in_python = run_in_python(read(path))
    (delivery,) = [verdict for verdict in in_python if verdict.check == "topic_delivery"]
    # Where a full page lost a message, that it has room left now is told as well: it needs no cursor.
    of_cursors = [witness for witness in delivery.witnesses if witness.kind != "stale"]
    assert {events[witness.events[0]]["agent"] for witness in of_cursors} == {other["agent"]}
    assert run_in_spark(topics_streams.read(spark, path)) == in_python
