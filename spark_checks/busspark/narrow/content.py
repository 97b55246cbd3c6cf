"""content: the messages that were ever told, shown or stored in more than one form."""

from __future__ import annotations

from busspark.narrow.database import Database


def narrowed(db: Database) -> dict[str, str]:
    """With all that was told of them."""
    db.make("odd", "SELECT lane, message FROM contents GROUP BY lane, message HAVING min(digest) <> max(digest)")
    return {"contents": "SELECT * FROM contents WHERE (lane, message) IN (FROM odd)"}
