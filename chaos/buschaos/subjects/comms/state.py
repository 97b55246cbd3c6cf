"""The state of a `comms` project as a value that can be compared, and all that must be true of it in any case."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from buschaos.state import Evidence, Problem, Promise, answered, cleaned, decoded, health, short
from buschaos.subjects.comms.files import ARTIFACTS
from busproof.contract.history import Event

DELAY_S_MIN = 0.5  # after which a claimed message may be due again
TIMES = (
    "timestamp",
    "created_at",
    "expires_at",
    "last_delivered_at",
    "visible_at",
    "last_heartbeat",
    "moved_at",
    "cast_at",
    "subscribed_at",
)


def comparable(dump: dict[str, Any], known_ids: set[str], clock: str) -> dict[str, Any]:
    """A dump without the values that may differ between two runs of the same calls.

    An id that the bus chose itself becomes `*`, as does a retry delay, which is spread by jitter; on a wall clock
    times are left out.
    """

    def clean(row: dict[str, Any], name: str, value: Any) -> Any:
        if name in ("id", "message_id"):
            return value if str(value).partition(":")[0] in known_ids else "*"
        if name == "visible_at" and row.get("status") == "failed":
            return "*"
        if name in ("payload", "original_message") and isinstance(value, str):
            content = decoded(value)
            return (
                {k: v for k, v in content.items() if k not in TIMES}
                if clock == "wall" and isinstance(content, dict)
                else content
            )
        return value

    return cleaned(dump, clean, lambda column: clock == "manual" or column not in TIMES)


def promises(events: Iterable[Event]) -> list[Promise]:
    """Every acknowledged message of a history."""
    return [
        Promise(event.value["message_id"], None, asked)
        for asked, event in answered(events)
        if event.op in ("send_message", "send_response")
    ]


def problems(evidence: Evidence) -> list[Problem]:
    """The problems of a project."""
    if "died" in evidence.facts:
        return [Problem("log", evidence.facts["died"])]
    wrong = [*health(evidence)]
    wrong += [Problem("blob", f"torn: the artifact {name} is no JSON") for name in evidence.facts["torn_artifacts"]]
    if evidence.dump is not None:
        wrong += _kept_promises(evidence.dump, evidence.promises)
        wrong += _counters(evidence.dump)
        if evidence.exported:
            wrong += _trail(evidence)
    return wrong


def _kept_promises(dump: dict[str, Any], kept: list[Promise]) -> Iterable[Problem]:
    """A message is in its table or among the dead letters, unless it was sent to expire soon."""
    stored = {row["id"]: row["payload"] for row in dump["messages"]}
    letters = Counter(row["id"] for row in dump.get("dead_letter_queue") or [])
    for promise in kept:
        if promise.id not in stored and promise.id not in letters:
            if promise.message.get("ttl_seconds") is not None:
                continue
            yield Problem("log", f"lost: {promise.id} was acknowledged, and is neither a message nor a dead letter")
        elif promise.id in stored and promise.id in letters:
            yield Problem("retry", f"doubled: {promise.id} is a message and a dead letter")
        elif (
            promise.id in stored
            and "payload" in promise.message
            and (decoded(stored[promise.id]) != promise.message["payload"])
        ):
            yield Problem("log", f"changed: {promise.id} has not the payload that was acknowledged")


def _counters(dump: dict[str, Any]) -> Iterable[Problem]:
    """messages_pending equals the rows that are pending (C12) and those due again, however a bus tells them.

    A failed one may be due: no dump tells what time it is for a bus, and a delay is shorter than the shortest step.
    """
    rows = [row for row in dump["messages"] if row["to_agent"]]
    pending = Counter(row["to_agent"] for row in rows if row["status"] == "pending")
    times = [_seconds(row.get(name)) for row in rows for name in ("created_at", "last_delivered_at")]
    now = max(filter(None, times), default=0.0)
    due = Counter(
        row["to_agent"]
        for row in rows
        if row["status"] == "failed"
        or (row["status"] == "processing" and now - _seconds(row.get("last_delivered_at")) >= DELAY_S_MIN)
    )
    for row in dump.get("agent_status") or []:
        least = pending[row["agent_id"]]
        if not least <= row["messages_pending"] <= least + due[row["agent_id"]]:
            why = f"{row['agent_id']} has messages_pending {row['messages_pending']}: pending are {least} rows"
            more = f", due again perhaps {due[row['agent_id']]} more" if due[row["agent_id"]] else ""
            yield Problem("presence", why + more)


def _seconds(text: Any) -> float:
    """The seconds of a time as it is told; 0 if it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError):
        return 0.0


def _trail(evidence: Evidence) -> Iterable[Problem]:
    """The form of a line is the bus's own: a change has a line that names its message (docs/spec/comms.md).

    And no line tells of an event that did not happen (C23): no run removes an artifact.
    """
    for bad in evidence.facts["bad_lines"]:
        yield Problem("export", f"torn: {bad}")
    changes = {promise.id: 1 for promise in evidence.promises}
    for row in (evidence.dump or {"messages": []})["messages"]:
        changes[row["id"]] = 1 + (row.get("delivery_count") or 0)  # it was sent, and each of its claims
    hooked, left = evidence.facts["hooks"]
    if left < hooked:
        yield Problem("export", f"lost: of {hooked} lines that others have added to the trail {hooked - left} are gone")
    texts = {text for _, texts in evidence.facts["trail"] for text in texts}
    for path in sorted(texts - {*evidence.facts["artifacts"]}):
        if path.startswith(f"{ARTIFACTS}/"):
            yield Problem("export", f"the audit trail tells of {path}, which is not there")
    lines = [(line, changes.keys() & set(named)) for line, named in evidence.facts["trail"]]
    if doubled := [line for line, times in Counter(line for line, about in lines if about).items() if times > 1]:
        yield Problem("export", f"doubled: these lines stand more than once in the trail: {short(doubled)}")
    counted = Counter(name for _, about in lines for name in about)
    if missing := [name for name, least in changes.items() if counted[name] < least]:
        counts = {name: f"{counted[name]} lines of {changes[name]} changes" for name in missing[:3]}
        yield Problem("export", f"missing in the audit trail: {json.dumps(counts)}")
