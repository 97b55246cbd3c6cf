"""durable: messages that were lost, moved, doubled, given twice or sent by nobody, each with all its rows."""

from __future__ import annotations

from busspark.narrow.database import Database

_DUE = """outcome = 'ok' AND id IS NOT NULL AND "end" <= getvariable('dump_at')
    AND (expires_ms IS NULL OR expires_ms > coalesce(getvariable('newest_ms'), 0))"""
_OF_ODD = "(lane, id) IN (FROM odd) OR (lane, message) IN (FROM odd)"


def narrowed(db: Database) -> dict[str, str]:
    """By id and by the name that a sender gave: a message that is odd by one may stand under the other."""
    db.make(
        "odd",
        """SELECT lane, id AS message FROM appended WHERE outcome = 'ok' AND id IS NOT NULL
           GROUP BY lane, id HAVING bool_or(is_new) AND min("end") <> max("end")""",
    )
    db.make("odd", f"SELECT * FROM odd UNION ({_LOST}) UNION ({_DOUBLED}) UNION ({_UNINVITED})")
    while True:
        before = db.count("odd")
        names = " UNION ".join(
            f"SELECT lane, {name} FROM {of} WHERE {_OF_ODD}"
            for of in ("appended", "stored")
            for name in ("id", "message")
        )
        db.make("odd", f"SELECT * FROM (SELECT * FROM odd UNION {names}) WHERE message IS NOT NULL")
        if db.count("odd") == before:
            break
    return {
        "appended": f"SELECT * FROM appended WHERE {_OF_ODD} UNION ALL ({_NAMELESS})",
        "stored": f"SELECT * FROM stored WHERE {_OF_ODD}",
    }


_LOST = f"""
    SELECT a.lane, a.id FROM (SELECT DISTINCT lane, id, seq FROM appended WHERE {_DUE}) a
    LEFT JOIN (SELECT lane, id, TRUE AS stands, min(seq) AS least, max(seq) AS most FROM stored GROUP BY lane, id) s
        ON s.lane = a.lane AND s.id = a.id
    WHERE s.stands IS NULL OR s.least <> a.seq OR s.most <> a.seq"""
_DOUBLED = "SELECT lane, message FROM stored WHERE NOT is_dead GROUP BY lane, message HAVING count(*) > 1"
# Each may have been the sending of one row that has no name.
_NAMELESS = "SELECT * FROM appended WHERE message IS NULL AND outcome <> 'fail'"
_UNINVITED = """
    SELECT lane, message FROM stored WHERE NOT is_own
        AND (lane, message) NOT IN (SELECT lane, message
            FROM appended WHERE message IS NOT NULL AND outcome <> 'fail')"""
