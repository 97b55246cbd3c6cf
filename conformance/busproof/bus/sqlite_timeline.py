"""The kit itself as a participant on a `timeline.db`, by the letter of docs/spec/timeline.md.

It joins the file that another bus uses (a mixed fleet): each side must read the other's records, chain on to them and
hand them out once. It shares no code with the reference, nor with the model.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from busproof.bus.base import Refused
from busproof.bus.participant import Participant
from busproof.contract.timeline import ACK_WAIT_MS, CONTRACT, DB_NAME, TIMELINE_TABLES

# type → the word in its subject, then its dimensions; the reply's type and dimensions by the same names
DIMENSIONS = {
    "invoke": ("invoke", "harness", "runtime", "agent"),
    "complete": ("complete", "agent", "harness"),
    "request": ("req", "agent", "service", "backend", "operation", "sequence"),
    "response": ("res", "service", "backend", "agent", "operation", "sequence"),
    "delegate": ("delegate", "caller", "target"),
    "delegate-reply": ("delegate-reply", "caller", "target", "nonce"),
    "fork": ("fork", "agent_name"),
}
REPLIES = {"invoke": "complete", "request": "response", "delegate": "delegate-reply"}
BOUND_OF = CONTRACT.bound_of
CONSUMER_CHARS_MAX = 200
START = "0" * 64
Row = dict[str, Any]


def refuse(code: str, message: str) -> Refused:
    """A refusal that certainly did nothing."""
    return Refused(code, message, definite=True)


class TimelineParticipant(Participant):
    """Messages, work queues, keys and forks, on one connection."""

    system = "timeline"
    nouns = ("log", "cursor", "route", "fork")
    features = ("nak", "groups", "dump", "sqlite")
    clock = "manual"

    def _open(self, store: str, options: Row) -> Row:
        self.kill()
        self._ack_wait_us = options.get("ack_wait_ms", ACK_WAIT_MS) * 1_000
        path = Path(store) / DB_NAME
        # No sentence of the seed says which journal: a bus whose file has another one is joined as it is.
        db = self._connect(path, keeps_journal=path.exists())
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'messages'").fetchone() is None:
            with contextlib.suppress(sqlite3.OperationalError):
                db.executescript("BEGIN IMMEDIATE;" + TIMELINE_TABLES + "COMMIT;")
        return {}

    # -- keys

    def _subject_of(self, key: Any, nonce: Any = None) -> Row:
        written = subject(checked(key))
        return {"subject": written, "consumer": consumer(written, None)}

    def _key_of(self, subject: Any) -> Row:
        return {"key": key_of(subject)}

    def _reply_key(self, key: Any, nonce: Any = None) -> Row:
        return {"key": reply_key(checked(key), nonce)}

    def _filter_subject(self, filter: Any, group: Any = None) -> Row:
        written = filter_subject(checked(filter, whole=False))
        return {"subject": written, "consumer": consumer(written, group)}

    def _matches(self, filter: Any, key: Any) -> Row:
        wanted, key = checked(filter, whole=False), checked(key)
        return {"matches": all(key.get(name) == value for name, value in wanted.items() if value is not None)}

    # -- the record

    def _send(self, key: Any, payload: Any = None, nonce: Any = None) -> Row:
        if checked(key)["type"] not in REPLIES:
            raise refuse("INVALID_ARGUMENT", "a reply or a fork is not sent by send")
        return self._append(key, nonce_of(key, nonce), None, text_of(payload))

    def _reply(self, key: Any, payload: Any = None, nonce: Any = None, state: Any = None) -> Row:
        answer = reply_key(checked(key), nonce)
        if answer["type"] != "response":
            hashed = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
            return self._append(answer, None, hashed, text_of(payload))
        if state is not None:
            raise refuse("INVALID_ARGUMENT", "a response has no state")
        return self._append(answer, None, None, text_of(payload))

    def _fork(self, timeline: Any, submission: Any, agent_name: Any, parent: Any, at: Any) -> Row:
        key = checked({"type": "fork", "timeline": timeline, "submission": submission, "agent_name": agent_name})
        before = [row for row in self._seen(parent) if row["number"] == at]
        if at and not before:
            raise refuse("NOT_FOUND", f"{parent!a} has no message {at}")
        origin = (parent, at, before[0]["hash"] if before else START)
        sent = self._append(key, None, None, text_of({"parent": parent, "at": at}), origin)
        return {"timeline": timeline, "parent": parent, "at": at, **sent}

    def _append(
        self, key: Row, nonce: str | None, state: str | None, payload: str, origin: tuple[str, int, str] | None = None
    ) -> Row:
        """Append behind the last of the timeline, in one transaction."""
        db, written, lane = self._conn, subject(key), token(key["timeline"])
        db.execute("BEGIN IMMEDIATE")
        known = db.execute(
            "SELECT * FROM messages WHERE subject = ? AND coalesce(nonce, '') = ?", (written, nonce or "")
        ).fetchone()
        if known is not None:
            db.execute("ROLLBACK")
            if (known["payload"], known["state"]) != (payload, state):
                raise refuse("ID_CONFLICT", f"{written} was sent with other content")
            return {"subject": written, "number": known["number"], "hash": known["hash"], "duplicate": True}
        last = db.execute("SELECT number, hash FROM timelines WHERE timeline = ?", (lane,)).fetchone()
        if last is not None and origin is not None:
            raise refuse("ID_CONFLICT", f"timeline {key['timeline']!a} exists")
        number, before = (last["number"], last["hash"]) if last is not None else origin[1:] if origin else (0, START)
        fields = [before, str(number + 1), written, nonce or "", state or "", payload, str(self._time() * 1_000)]
        parts = [len(data).to_bytes(8, "big") + data for data in (field.encode() for field in fields)]
        new = hashlib.sha256(b"".join(parts)).hexdigest()
        db.execute(
            "INSERT INTO messages (timeline, number, submission, type, subject, nonce, state, payload, time_us,"
            " previous, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(lane, number + 1, token(key["submission"]), DIMENSIONS[key["type"]][0], written, nonce, state),
                *(payload, self._time() * 1_000, before, new),
            ),
        )
        db.execute(
            "INSERT INTO timelines (timeline, parent, at, number, hash) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (timeline) DO UPDATE SET number = excluded.number, hash = excluded.hash",
            (lane, *((token(origin[0]), origin[1]) if origin else (None, None)), number + 1, new),
        )
        db.execute("COMMIT")
        return {"subject": written, "number": number + 1, "hash": new, "duplicate": False}

    def _seen(self, timeline: Any) -> list[Row]:
        """A timeline's messages: those of its ancestors up to the fork points, then its own."""
        lane, upto = token(checked_name(timeline)), None
        rows: list[Row] = []
        while lane is not None:
            row = self._conn.execute("SELECT * FROM timelines WHERE timeline = ?", (lane,)).fetchone()
            if row is None:
                raise refuse("NOT_FOUND", f"there is no timeline {timeline!a}")
            own = self._conn.execute(
                "SELECT * FROM messages WHERE timeline = ? AND number <= ? ORDER BY number", (lane, upto or 2**62)
            )
            rows = [message(own_row) for own_row in own if upto is None or upto > 0] + rows
            if row["parent"] is not None:
                upto = row["at"] if upto is None else min(upto, row["at"])
            lane = row["parent"]
        return rows

    def _log(self, timeline: Any, submission: Any = None, after: int = 0, limit: int | None = None) -> Row:
        rows = [row for row in self._seen(timeline) if row["number"] > after]
        return {"messages": [row for row in rows if submission in (None, row["key"]["submission"])][: limit or 1000]}

    def _state(self, timeline: Any, agent: Any) -> Row:
        newest: Row = {"state": None, "number": None}
        for row in self._seen(timeline):
            author = {"complete": "agent", "delegate-reply": "target"}.get(row["key"]["type"], "")
            if row["key"].get(author) == agent:
                newest = {"state": row["state"], "number": row["number"]}
        return newest

    def _timelines(self) -> Row:
        rows = [dict(row) for row in self._conn.execute("SELECT * FROM timelines")]
        for row in rows:
            row["timeline"], row["parent"] = unquote(row["timeline"]), row["parent"] and unquote(row["parent"])
        return {"timelines": sorted(rows, key=lambda row: str(row["timeline"]))}

    def _dump(self) -> Row:
        rows = self._conn.execute("SELECT * FROM messages ORDER BY timeline, number")
        return {"messages": [message(row) for row in rows], **self._timelines()}

    # -- work queues

    def _fetch(self, filter: Any, group: Any = None, wait_ms: int = 0) -> Row:
        wanted = checked(filter, whole=False)
        name, db = consumer(filter_subject(wanted), group), self._conn
        word, *names = DIMENSIONS[wanted["type"]]
        tokens = [
            token(wanted[key]) if wanted.get(key) is not None else "*" for key in ("timeline", "submission", *names)
        ]
        tokens.insert(2, word)
        now_us = self._time() * 1_000
        db.execute("BEGIN IMMEDIATE")
        row = db.execute(
            "SELECT m.*, d.delivery_count FROM deliveries d JOIN messages m USING (position)"
            " WHERE d.consumer = ? AND d.visible_at_us <= ? ORDER BY position LIMIT 1",
            (name, now_us),
        ).fetchone()
        if row is None:
            row = db.execute(
                "SELECT m.*, 0 AS delivery_count FROM messages m WHERE type = ? AND subject GLOB ? AND position >"
                " coalesce((SELECT floor FROM consumers WHERE consumer = ?), 0) ORDER BY position LIMIT 1",
                (word, ".".join(["vlinder", *tokens]), name),
            ).fetchone()
            if row is not None:
                db.execute("INSERT OR REPLACE INTO consumers (consumer, floor) VALUES (?, ?)", (name, row["position"]))
        if row is None:
            db.execute("COMMIT")
            return {"message": None}
        count = row["delivery_count"] + 1
        db.execute(
            "INSERT OR REPLACE INTO deliveries (consumer, position, delivery_count, visible_at_us) VALUES (?, ?, ?, ?)",
            (name, row["position"], count, now_us + self._ack_wait_us),
        )
        db.execute("COMMIT")
        return {"message": message(row) | {"delivery": f"{name}:{row['position']}:{count}", "delivery_count": count}}

    def _ack(self, delivery: Any) -> Row:
        name, position, _ = parts_of(delivery)
        self._conn.execute("DELETE FROM deliveries WHERE consumer = ? AND position = ?", (name, position))
        return {}

    def _nak(self, delivery: Any) -> Row:
        self._conn.execute(
            "UPDATE deliveries SET visible_at_us = 0 WHERE consumer = ? AND position = ? AND delivery_count = ?",
            parts_of(delivery),
        )
        return {}


# -- valid values, and how they are written


def token(value: Any) -> str:
    """One dimension in a subject."""
    return quote(str(value), safe="~").replace(".", "%2E")


def checked_name(value: Any) -> str:
    """A dimension."""
    if not BOUND_OF["agent"].takes(value):
        raise refuse("INVALID_ARGUMENT", f"no dimension: {value!a:.80}")
    return str(value)


def checked(key: Any, *, whole: bool = True) -> Row:
    """A key; not `whole`, a filter."""
    if type(key) is not dict or type(key.get("type")) is not str or key["type"] not in DIMENSIONS:
        raise refuse("INVALID_ARGUMENT", f"no key: {key!a:.80}")
    names = {"type", "timeline", "submission", *DIMENSIONS[key["type"]][1:]}
    if not key.keys() <= names or (whole and key.keys() != names):
        raise refuse("INVALID_ARGUMENT", f"a key of this type has {', '.join(sorted(names))}")
    for name, value in key.items():
        if value is None and not whole:
            continue
        if name == "sequence":
            if not BOUND_OF["sequence"].takes(value):
                raise refuse("INVALID_ARGUMENT", f"no sequence: {value!a:.80}")
        else:
            checked_name(value)
    return key


def subject(key: Row) -> str:
    """A key as it is written."""
    word, *names = DIMENSIONS[key["type"]]
    tokens = [token(key["timeline"]), token(key["submission"]), word, *(token(key[name]) for name in names)]
    return ".".join(["vlinder", *tokens])


def key_of(written: Any) -> Row:
    """The key of a subject."""
    parts = written.split(".") if isinstance(written, str) else []
    for type_, (word, *names) in DIMENSIONS.items():
        if len(parts) == 4 + len(names) and parts[0] == "vlinder" and parts[3] == word:
            key: Row = {"type": type_}
            for name, part in zip(("timeline", "submission", *names), [*parts[1:3], *parts[4:]], strict=True):
                text = unquote(part, errors="replace")
                key[name] = (
                    int(text) if name == "sequence" and text.isascii() and text.isdigit() and len(text) < 17 else text
                )
            if subject(checked(key)) == written:
                return key
    raise refuse("INVALID_ARGUMENT", f"no subject: {written!a:.80}")


def nonce_of(key: Row, nonce: Any) -> str | None:
    """A delegation has one, as a token; nothing else has."""
    if key["type"] == "delegate":
        return token(checked_name(nonce))
    if nonce is not None:
        raise refuse("INVALID_ARGUMENT", "only a delegation has a nonce")
    return None


def reply_key(key: Row, nonce: Any) -> Row:
    """The one reply key of a message that asks."""
    nonce_of(key, nonce)
    if key["type"] not in REPLIES:
        raise refuse("INVALID_ARGUMENT", "this has no reply")
    type_ = REPLIES[key["type"]]
    whole = {**key, "nonce": nonce}
    return {"type": type_, **{name: whole[name] for name in ("timeline", "submission", *DIMENSIONS[type_][1:])}}


def filter_subject(wanted: Row) -> str:
    """The open dimensions at the end are one `>`."""
    word, *names = DIMENSIONS[wanted["type"]]
    tokens = [token(wanted[key]) if wanted.get(key) is not None else "*" for key in ("timeline", "submission", *names)]
    tokens.insert(2, word)
    if tokens[-1] == "*":
        while tokens[-1] == "*":
            tokens.pop()
        tokens.append(">")
    return ".".join(["vlinder", *tokens])


def consumer(written: str, group: Any) -> str:
    """The name of a filter's subject and a group; a long one is hashed."""
    name = written.replace(".", "+").replace("*", "=").replace(">", "==")
    name += "" if group is None else f"@{token(checked_name(group))}"
    return name if len(name) <= CONSUMER_CHARS_MAX else f"sha256+{hashlib.sha256(name.encode()).hexdigest()}"


def parts_of(delivery: Any) -> tuple[str, int, int]:
    """Consumer, position and count of a delivery."""
    parts = delivery.rsplit(":", 2) if isinstance(delivery, str) else []
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts[1:]):
        raise refuse("INVALID_ARGUMENT", f"no delivery: {delivery!a:.80}")
    return parts[0], int(parts[1]), int(parts[2])


def text_of(payload: Any) -> str:
    """The JSON text of a payload."""
    try:
        text = json.dumps(payload, allow_nan=False)
        json.dumps(payload, ensure_ascii=False).encode()
    except ValueError as error:
        raise refuse("INVALID_ARGUMENT", str(error)) from error
    if len(text) > BOUND_OF["payload"].high:
        raise refuse("PAYLOAD_TOO_LARGE", f"{len(text)} bytes")
    return text


def message(row: sqlite3.Row) -> Row:
    """A row as its reader sees it."""
    same = ("subject", "number", "state", "time_us", "previous", "hash")
    shown = {name: row[name] for name in same}
    nonce = row["nonce"] and unquote(row["nonce"])
    return {
        **shown,
        "key": key_of(row["subject"]),
        "payload": json.loads(row["payload"]),
        "nonce": nonce,
        "status": "sent",
    }
