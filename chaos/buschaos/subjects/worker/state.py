"""The state of a `worker` store as a value that can be compared, and all that must be true of it in any case."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any

from buschaos.state import Evidence, Problem, Promise, answered, cleaned, decoded, health, short
from busproof.contract.history import Event

LOG_TABLES = ("messages", "archived")


def comparable(dump: dict[str, Any], known_ids: set[str], clock: str) -> dict[str, Any]:
    """A dump without the values that may differ between two runs of the same calls.

    A seq becomes its rank, since numbers may be skipped (W14); an id that the bus chose itself becomes `*`; on a
    wall clock times are left out.
    """
    rows = sorted((row for table in LOG_TABLES for row in dump.get(table) or []), key=lambda row: row["seq"])
    seqs = [row["seq"] for row in rows]

    def rank(seq: Any) -> Any:
        return bisect_right(seqs, seq) if isinstance(seq, int) else seq

    def clean(_row: dict[str, Any], name: str, value: Any) -> Any:
        if name in ("seq", "last_acked_seq"):
            return rank(value)
        if name == "id":
            return value if value in known_ids else "*"
        if name == "payload" and isinstance(value, str):
            return decoded(value)
        return value

    kept = cleaned(dump, clean, lambda column: clock == "manual" or not column.endswith("_ms"))
    # Agents and tasks have no order.
    kept |= {table: sorted(rows, key=repr) for table, rows in kept.items() if table not in LOG_TABLES}
    kept["export_last_seq"] = rank(dump.get("export_last_seq"))
    return kept


def promises(events: Iterable[Event]) -> list[Promise]:
    """Every acknowledged message of a history."""
    kept: list[Promise] = []
    for asked, event in answered(events):
        if event.op == "publish":
            kept.append(Promise(event.value["id"], event.value.get("seq"), asked["message"]))
        elif event.op == "publish_many":
            seqs = event.value.get("seqs") or [None] * len(asked["messages"])
            kept += map(Promise, event.value["ids"], seqs, asked["messages"])
    return kept


def problems(evidence: Evidence) -> list[Problem]:
    """The problems of a store."""
    if "died" in evidence.facts:
        return [Problem("log", evidence.facts["died"])]
    wrong = [*health(evidence), *_torn(evidence)]
    if evidence.dump is not None:
        rows = [row for table in LOG_TABLES for row in evidence.dump.get(table) or []]
        wrong += _log(rows, evidence.dump, evidence.facts)
        wrong += _kept_promises(rows, evidence.promises)
        wrong += _blobs(rows, evidence.facts)
        if evidence.exported:
            wrong += _export(rows, evidence.facts)
    return wrong


def _torn(evidence: Evidence) -> Iterable[Problem]:
    for name, verdict in evidence.facts["blobs"].items():
        if verdict != "ok":
            yield Problem("blob", f"torn: the content of blob {name} has another hash")
    for name in evidence.facts["torn_workers"]:
        yield Problem("presence", f"torn: workers/{name} is no JSON object")


def _log(rows: list[dict[str, Any]], dump: dict[str, Any], facts: dict[str, Any]) -> Iterable[Problem]:
    for column in ("seq", "id"):
        for value, times in Counter(row[column] for row in rows).items():
            if times > 1:
                yield Problem("log", f"doubled: {column} {value} stands {times} times in the log")
    if facts["log"] not in (None, [[row["seq"], row["id"]] for row in dump["messages"]]):
        yield Problem("log", "the dump tells another log than the table `messages`")


def _kept_promises(rows: list[dict[str, Any]], promises: list[Promise]) -> Iterable[Problem]:
    stored = {row["id"]: row for row in rows}
    for promise in promises:
        row = stored.get(promise.id)
        if row is None:
            yield Problem("log", f"lost: {promise.id} was acknowledged and is not in the log")
        elif promise.seq not in (None, row["seq"]):
            yield Problem("log", f"moved: {promise.id} was acknowledged as seq {promise.seq}, stands at {row['seq']}")
        elif row.get("payload") is not None and decoded(row["payload"]) != promise.message.get("payload"):
            yield Problem("log", f"changed: {promise.id} has not the payload that was acknowledged")
        elif row.get("payload") is None and not row.get("payload_ref") and "payload" in promise.message:
            yield Problem("log", f"changed: {promise.id} lost its payload")


def _blobs(rows: list[dict[str, Any]], facts: dict[str, Any]) -> Iterable[Problem]:
    for row in rows:
        if row.get("payload_ref") and row["payload_ref"] not in facts["blobs"]:
            yield Problem("blob", f"missing: message {row['id']} refers to {row['payload_ref']}")


def ahead(evidence: Evidence) -> Iterable[Problem]:
    """Lines of bus.jsonl that are not in the log: a reader saw a message that never was, and its seq is given again."""
    if evidence.dump is None or "died" in evidence.facts:
        return
    stored = {(row["seq"], row["id"]) for table in LOG_TABLES for row in evidence.dump.get(table) or []}
    if ghosts := sorted({(seq, id_) for seq, id_ in evidence.facts["lines"] or []} - stored):
        yield Problem("export", f"ahead: in bus.jsonl and not in the log: {short(ghosts)}")


def _export(rows: list[dict[str, Any]], facts: dict[str, Any]) -> Iterable[Problem]:
    for bad in facts["bad_lines"]:
        yield Problem("export", f"torn: {bad}")
    lines = facts["lines"] or []
    seqs = [seq for seq, _ in lines]
    if doubled := [seq for seq, times in Counter(seqs).items() if times > 1]:
        yield Problem("export", f"doubled: seq {short(doubled)} stand more than once in bus.jsonl")
    elif seqs != sorted(seqs):
        yield Problem("export", "bus.jsonl is not in seq order")
    stored, exported = {(row["seq"], row["id"]) for row in rows}, {(seq, id_) for seq, id_ in lines}
    if missing := stored - exported:
        yield Problem("export", f"missing in bus.jsonl: {short(sorted(missing))}")
    if ghosts := exported - stored:
        yield Problem("export", f"in bus.jsonl and not in the log: {short(sorted(ghosts))}")
