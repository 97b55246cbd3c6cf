"""The oddities of the database of `topics`: a message's number, a reader's place and a name are each kept apart.

Other programs on the file may have tables of their own beside the seed's, and indexes under their own names.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from busproof.oddities.common import back_in_time, some

DAY_S = 24 * 60 * 60
# In seconds this is the year 5138, in milliseconds 1973.
SECONDS_MAX = 100_000_000_000


def _version(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    version = db.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    if version is None or version[0] != "6":
        yield f"meta.schema_version is {version and version[0]!r}, not '6': every tool answers DB_SCHEMA_MISMATCH"


def _unique(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Under any name. Without them two servers store one number, or one retried message, twice."""
    indexes = [row[0] for row in db.execute("SELECT name FROM pragma_index_list('messages') WHERE \"unique\"")]
    there = {tuple(row[0] for row in db.execute("SELECT name FROM pragma_index_info(?)", (i,))) for i in indexes}
    for columns in (("topic_id", "seq"), ("topic_id", "sender", "client_message_id")):
        if columns not in there:
            yield f"nothing keeps ({', '.join(columns)}) of messages unique"


def _numbers(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Dense from 1, each once; and the counter stands at the next."""
    for row in db.execute(_NUMBERS):
        where = f"topic {row['topic_id']} ({row['name']})"
        if row["newest"] and (row["oldest"], row["apart"], row["held"]) != (1, row["newest"], row["newest"]):
            yield (
                f"{where} holds {row['held']} messages under {row['apart']} numbers from {row['oldest']} to"
                f" {row['newest']}: they are not 1 to {row['newest']}, each once"
            )
        if row["next_seq"] is None and row["newest"]:
            yield f"{where} has no counter in topic_seq, and its newest message is {row['newest']}"
        elif row["next_seq"] is not None and row["next_seq"] != row["newest"] + 1:
            yield f"the counter of {where} is at {row['next_seq']}, and the newest message is {row['newest']}"


_NUMBERS = """
    SELECT t.topic_id, t.name, s.next_seq, count(m.seq) AS held, count(DISTINCT m.seq) AS apart,
           min(m.seq) AS oldest, coalesce(max(m.seq), 0) AS newest
    FROM topics AS t LEFT JOIN topic_seq AS s USING (topic_id) LEFT JOIN messages AS m USING (topic_id)
    GROUP BY t.topic_id ORDER BY t.created_at
"""


def _readers(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    for row in db.execute(_BEYOND):
        yield (
            f"{row['agent_name']} on topic {row['topic_id']} has read up to {row['last_seq']}, beyond the newest"
            f" message {row['newest']}: what comes until then is never shown to it"
        )
    for who, query in _NOBODY.items():
        if names := [row[0] for row in db.execute(query)]:
            yield f"{who}: {some(names)}"


_BEYOND = """
    SELECT c.*, (SELECT coalesce(max(seq), 0) FROM messages AS m WHERE m.topic_id = c.topic_id) AS newest
    FROM cursors AS c WHERE c.last_seq < 0 OR c.last_seq > newest
"""

_RESERVED = "(SELECT topic_id, agent_name FROM agent_name_reservations)"
_NOBODY = {
    "readers whose name is not reserved, so that anybody may take it": "SELECT agent_name || ' on ' || topic_id"
    f" FROM cursors WHERE (topic_id, agent_name) NOT IN {_RESERVED}",
    "senders who never joined": "SELECT DISTINCT sender || ' on ' || topic_id"
    f" FROM messages WHERE (topic_id, sender) NOT IN {_RESERVED}",
    "messages of topics that are gone": "SELECT message_id FROM messages"
    " WHERE topic_id NOT IN (SELECT topic_id FROM topics)",
    "readers of topics that are gone": "SELECT agent_name FROM cursors"
    " WHERE topic_id NOT IN (SELECT topic_id FROM topics)",
}


def _rows(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Values that no server may store; a reader may stumble over them."""
    for fault, query in _FAULTS.items():
        if places := [row[0] for row in db.execute(query)]:
            yield f"{some(places)}: {fault}"


_OBJECT = "CASE WHEN json_valid(metadata_json) THEN json_type(metadata_json) <> 'object' ELSE 1 END"
_FAULTS = {
    "two messages with one client_message_id of one sender": "SELECT max(message_id) FROM messages"
    " WHERE client_message_id IS NOT NULL GROUP BY topic_id, sender, client_message_id HAVING count(*) > 1",
    "content_markdown is no text": "SELECT message_id FROM messages WHERE typeof(content_markdown) <> 'text'",
    "metadata_json is no JSON object": "SELECT message_id FROM messages"
    f" WHERE metadata_json IS NOT NULL AND {_OBJECT} UNION ALL SELECT topic_id FROM topics"
    f" WHERE metadata_json IS NOT NULL AND {_OBJECT}",
    "created_at is no number of seconds": "SELECT message_id FROM messages"
    f" WHERE typeof(created_at) NOT IN ('real', 'integer') OR created_at > {SECONDS_MAX}",
    "the status is neither open nor closed": "SELECT topic_id FROM topics WHERE status NOT IN ('open', 'closed')",
    "closed without a closed_at, or open with one": "SELECT topic_id FROM topics"
    " WHERE (status = 'closed') <> (closed_at IS NOT NULL)",
    "sent after the topic was closed": "SELECT message_id FROM messages JOIN topics USING (topic_id)"
    " WHERE status = 'closed' AND messages.created_at > closed_at",
}


def _backlog(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Readers that have unread messages on an open topic and did not look for a day."""
    now_s = now_ms / 1000
    for row in db.execute(_UNREAD, {"day_ago": now_s - DAY_S}):
        days = (now_s - row["updated_at"]) / DAY_S
        yield (
            f"{row['agent_name']} has {row['unread']} unread messages on topic {row['topic_id']} ({row['name']}), and"
            f" was last there {days:.0f} days ago"
        )


_UNREAD = """
    SELECT c.agent_name, c.topic_id, t.name, c.updated_at,
           (SELECT count(*) FROM messages AS m
            WHERE m.topic_id = c.topic_id AND m.seq > c.last_seq AND m.sender IS NOT c.agent_name) AS unread
    FROM cursors AS c JOIN topics AS t USING (topic_id)
    WHERE t.status = 'open' AND c.updated_at < :day_ago AND unread ORDER BY c.updated_at
"""


def _one_name(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """`mode=new` makes them; so does a race of two servers that do not lock (B2)."""
    for name, count in db.execute(
        "SELECT name, count(*) FROM topics WHERE status = 'open' GROUP BY name HAVING count(*) > 1"
    ):
        yield f"{count} open topics are called {name!r}: who joins by name gets the newest"


def _replies(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Some servers do not check whether there is such a message."""
    query = (
        "SELECT message_id FROM messages AS m WHERE reply_to IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM messages AS o WHERE o.message_id = m.reply_to AND o.topic_id = m.topic_id)"
    )
    if ids := [row[0] for row in db.execute(query)]:
        yield f"replies to what is not on the topic: {some(ids)}"


def _clock(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterable[str]:
    return back_in_time(db, "topic", "topic_id", "created_at", "seq")


ODDITIES = (_version, _unique, _numbers, _readers, _rows)
NOTES = (_backlog, _one_name, _replies, _clock)
