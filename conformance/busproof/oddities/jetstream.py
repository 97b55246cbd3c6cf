"""`busproof doctor --bus nats://HOST:PORT`: the oddities of a `timeline` bus's JetStream.

The stream is read once, by an ordered consumer that the server forgets again, into the tables that a `timeline.db` has;
the looks at a file then look at it. The server itself is checked for messages that it would delete, has deleted or has
lost, and for work that nobody fetches.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from busproof.contract import CONTRACTS
from busproof.oddities import timeline

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext
    from nats.js.api import ConsumerInfo, StreamInfo

STREAM, SUBJECTS = "VLINDER", "vlinder.>"
ANSWER_S = 5.0
CONSUMERS_MAX = 1_000  # default_max_consumers of nats-server 2.15, unless its configuration has another
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_URL = re.compile(r"(?:nats:)?((?:nats|tls)://\S+)")
_TABLE = "CREATE TABLE copy AS SELECT * FROM messages; DROP TABLE messages; ALTER TABLE copy RENAME TO messages"
_INSERT = (
    "INSERT INTO messages (position, timeline, number, submission, type, subject, nonce, state, payload, time_us,"
    " previous, hash) VALUES (:position, :timeline, :number, :submission, :type, :subject, :nonce, :state, :payload,"
    " :time_us, :previous, :hash)"
)


class Unreachable(Exception):
    """No server, or no stream, to look at."""


def server_of(spec: str) -> tuple[str, str | None] | None:
    """URL and credentials, of a URL or of a store folder whose config.toml names one; None: it is another spec."""
    if match := _URL.fullmatch(spec):
        return match[1], None
    config = Path(spec.removeprefix("nats:")).expanduser() / "config.toml"
    if not spec.startswith("nats:") or not config.is_file():
        return None
    queue = tomllib.loads(config.read_text(encoding="utf-8")).get("queue", {})
    creds = queue.get("nats_creds")
    return (queue["nats_url"], creds and str(Path(creds).expanduser())) if "nats_url" in queue else None


def look(url: str, creds: str | None) -> tuple[list[str], list[str]]:
    """The oddities, and the notes. Raises Unreachable."""
    try:
        import nats
    except ImportError as error:
        raise Unreachable(f"{error.name} is missing: pip install '.[nats]' in busproof's folder") from error
    with tempfile.TemporaryDirectory(prefix="busproof-") as folder, closing(sqlite3.connect(f"{folder}/copy.db")) as db:
        db.row_factory = sqlite3.Row
        db.executescript(CONTRACTS["timeline"].tables)
        db.executescript(_TABLE)  # without its constraints: a look is to report the things that stand twice
        try:
            info, consumers, strange = asyncio.run(_read(url, creds, db))
        except (nats.errors.Error, OSError, TimeoutError) as error:
            raise Unreachable(f"{url}: {type(error).__name__}: {error}") from error
        odd = list(_of_the_stream(info))
        noted = [*_strangers(strange), *_room(info, consumers), *_of_the_consumers(consumers)]
        for looks, findings in ((timeline.ODDITIES, odd), (timeline.NOTES, noted)):
            for oddity in looks:
                findings += oddity(db, Path(folder), 0)
        return odd, noted


async def _read(url: str, creds: str | None, db: sqlite3.Connection) -> tuple[StreamInfo, list[ConsumerInfo], int]:
    import nats

    async def ignore(_: Exception) -> None:
        """The caller is told."""

    connection = await nats.connect(
        url,
        user_credentials=creds,
        connect_timeout=3,
        allow_reconnect=False,
        max_reconnect_attempts=1,  # of the first connection, too: 60, two seconds apart, if nothing is said
        reconnect_time_wait=0,
        error_cb=ignore,
    )
    try:
        jetstream = connection.jetstream(timeout=ANSWER_S)
        info = await jetstream.stream_info(STREAM)
        consumers: list[ConsumerInfo] = []
        while page := await jetstream.consumers_info(STREAM, offset=len(consumers)):
            consumers += page
        strange = await _copy(jetstream, db) if info.state.messages else 0
        return info, consumers, strange
    finally:
        await connection.close()


async def _copy(jetstream: JetStreamContext, db: sqlite3.Connection) -> int:
    """Each message into its row; the number of those that their sender did not chain."""
    strange = 0
    ends: dict[str, dict[str, Any]] = {}
    subscription = await jetstream.subscribe(SUBJECTS, stream=STREAM, ordered_consumer=True)
    is_last = False
    while not is_last:
        message = await subscription.next_msg(ANSWER_S)
        is_last = message.metadata.num_pending == 0
        parts = message.subject.split(".")
        if len(parts) < 4:
            strange += 1
            continue
        end = ends.get(parts[1])
        row = _chained(message, end)
        strange += "Timeline-Hash" not in (message.headers or {})
        db.execute(_INSERT, row)
        parent, at = (end["parent"], end["at"]) if end else _origin(row)
        ends[parts[1]] = {**row, "parent": parent, "at": at}
    db.executemany("INSERT INTO timelines VALUES (:timeline, :parent, :at, :number, :hash)", ends.values())
    db.commit()
    return strange


def _chained(message: Msg, end: dict[str, Any] | None) -> dict[str, Any]:
    """A message's row, as its sender recorded it; if the sender knows only the subjects, it is chained here."""
    headers = message.headers or {}
    _, name, submission, kind, *_ = message.subject.split(".")
    row = {
        "position": message.metadata.sequence.stream,
        "timeline": name,
        "submission": submission,
        "type": kind,
        "subject": message.subject,
        "nonce": headers.get("Timeline-Nonce"),
        "state": headers.get("Timeline-State"),
        "payload": message.data.decode("utf-8", "replace"),
    }
    try:
        row |= {"number": int(headers["Timeline-Number"]), "time_us": int(headers["Timeline-Time-Us"])}
        return row | {"previous": headers["Timeline-Previous"], "hash": headers["Timeline-Hash"]}
    except (KeyError, ValueError):
        row |= {"number": end["number"] + 1 if end else 1, "previous": end["hash"] if end else timeline.START}
        row["time_us"] = (message.metadata.timestamp - _EPOCH) // _MICROSECOND
        return row | {"hash": timeline.digest(row)}


def _origin(row: dict[str, Any]) -> tuple[str | None, int | None]:
    """Where a timeline began, by its first message."""
    if row["type"] != "fork":
        return None, None
    try:
        origin = json.loads(row["payload"])
        return _token(origin["parent"]), int(origin["at"])
    except (ValueError, TypeError, KeyError):
        return None, None


def _token(name: str) -> str:
    """In the form that a dimension has in a subject."""
    return quote(name, safe="~-_").replace(".", "%2E")


def _strangers(number: int) -> Iterator[str]:
    if number:
        yield f"{number} messages were not chained by their senders, who know only the subjects: no change shows"


def _of_the_stream(info: StreamInfo) -> Iterator[str]:
    config, state = info.config, info.state
    if config.retention != "limits":
        yield f"the stream's retention is {config.retention}: a message goes when it is read, and cannot be replayed"
    if config.storage != "file":
        yield f"the stream is kept in {config.storage}: the record ends with the server"
    limits = {"max_age": config.max_age, "max_msgs": config.max_msgs, "max_bytes": config.max_bytes}
    if set_ := [name for name, value in limits.items() if value and value > 0]:
        yield f"the stream has {' and '.join(set_)}: the oldest of the record will be deleted"
    if state.num_deleted or (state.messages and state.first_seq > 1):
        yield f"{(state.num_deleted or 0) + state.first_seq - 1} messages of the record were deleted"
    if state.lost:
        yield f"the server has lost {state.lost}"


def _room(info: StreamInfo, consumers: Sequence[ConsumerInfo]) -> Iterator[str]:
    limit = info.config.max_consumers or 0
    most = limit if limit > 0 else CONSUMERS_MAX
    if len(consumers) >= 0.9 * most:
        named = f"has max_consumers {most}"
        unnamed = f"names no max_consumers, which from nats-server 2.15 on means {most}"
        made = f"{len(consumers)} consumers are made, one for each filter of a group"
        yield f"{made}, and stream {STREAM} {named if limit > 0 else unnamed}"


def _of_the_consumers(consumers: Sequence[ConsumerInfo]) -> Iterator[str]:
    for who in consumers:
        if who.name and (who.num_pending or who.num_ack_pending) and not who.num_waiting and who.config.durable_name:
            yield (
                f"consumer {unquote(who.name)}: {who.num_pending} messages wait and {who.num_ack_pending} are held,"
                " and nobody fetches at the moment: has it workers?"
            )
