"""receives: answers in which anything is odd, with the sends of the messages that they hold."""

from __future__ import annotations

from busspark.narrow.database import Database

_SENT = "outcome <> 'fail'"


def narrowed(db: Database) -> dict[str, str]:
    """An answer is looked at alone, but for the sends of its messages."""
    db.make(
        "odd",
        f"""SELECT "end" FROM reads WHERE "rows" > "limit"
            UNION SELECT "end" FROM delivered WHERE addressee <> reader OR NOT is_asked
                OR (place > 0 AND NOT coalesce(priority < prev_priority
                    OR (priority = prev_priority AND sent_at >= prev_sent_at), FALSE))
            UNION SELECT "end" FROM delivered
                WHERE id NOT IN (SELECT message FROM appended WHERE {_SENT} AND message IS NOT NULL)
            UNION SELECT "end" FROM delivered GROUP BY "end", id HAVING count(*) > 1""",
    )
    reads, delivered = (f'SELECT * FROM {name} WHERE "end" IN (FROM odd)' for name in ("reads", "delivered"))
    stored = f"""SELECT * FROM stored WHERE NOT is_own
        AND message NOT IN (SELECT message FROM appended WHERE {_SENT} AND message IS NOT NULL)"""
    of_these = f"""SELECT * FROM appended WHERE (message IS NULL AND {_SENT})
        OR message IN (SELECT id FROM ({delivered}) UNION SELECT message FROM ({stored}))"""
    return {"reads": reads, "delivered": delivered, "stored": stored, "appended": of_these}
