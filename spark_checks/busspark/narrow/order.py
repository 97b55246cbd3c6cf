"""order: messages with an odd seq, or with an odd neighbour in seq, each with all its attempts."""

from __future__ import annotations

from busproof.oracle.checks.calls import NEVER
from busspark.narrow.database import Database

_ACKNOWLEDGED = "outcome = 'ok' AND message IS NOT NULL AND seq IS NOT NULL"
_BELOW = '(PARTITION BY lane ORDER BY seq, "end", "begin" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)'


def narrowed(db: Database) -> dict[str, str]:
    """Look as the check does: by seq, by message, and against the latest beginning below."""
    db.make(
        "tries",
        f"""SELECT lane, message, min("begin") FILTER (WHERE outcome <> 'fail') AS "begin",
                min(ROW("end", seq)) FILTER (WHERE {_ACKNOWLEDGED}) AS first,
                min(seq) FILTER (WHERE {_ACKNOWLEDGED}) AS least, max(seq) FILTER (WHERE {_ACKNOWLEDGED}) AS most
            FROM appended GROUP BY lane, message""",
    )
    db.make(
        "standing",
        """SELECT lane, message, max(seq) AS seq FROM stored
            WHERE seq IS NOT NULL AND (lane, message) IN (
                SELECT lane, message FROM tries WHERE first IS NULL AND "begin" IS NOT NULL)
            GROUP BY lane, message""",
    )
    db.make(
        "spans",
        f"""SELECT *, max("begin") OVER {_BELOW} AS latest
            FROM (SELECT lane, message, "begin", first[1] AS "end", first[2] AS seq FROM tries WHERE first IS NOT NULL
                UNION ALL SELECT lane, message, "begin", {NEVER}, standing.seq
                FROM standing JOIN tries USING (lane, message))""",
    )
    db.make("late", 'SELECT * FROM spans WHERE latest > "end"')
    db.make(
        "odd",
        f"""SELECT lane, message FROM tries WHERE least <> most
            UNION SELECT lane, message FROM late
            UNION SELECT lane, message FROM appended WHERE below > seq
            UNION SELECT lane, message FROM spans WHERE (lane, "begin") IN (SELECT lane, latest FROM late)
            UNION SELECT lane, message FROM appended WHERE {_ACKNOWLEDGED} AND (lane, seq) IN (
                SELECT lane, seq FROM appended WHERE {_ACKNOWLEDGED}
                GROUP BY lane, seq HAVING min(message) <> max(message))""",
    )
    return {
        "appended": "SELECT * FROM appended WHERE (lane, message) IN (FROM odd)",
        "stored": """SELECT * FROM stored
            WHERE (lane, message) IN (FROM odd INTERSECT SELECT lane, message FROM standing)""",
    }


def narrowed_dense(db: Database) -> dict[str, str]:
    """The same, and the whole log of each lane that leaves a seq out or has an odd row: part of a log has gaps."""
    db.make(
        "torn",
        """SELECT DISTINCT lane FROM (
               SELECT lane, seq, lag(seq, 1, 0) OVER (PARTITION BY lane ORDER BY seq) AS below
               FROM stored WHERE seq IS NOT NULL)
           WHERE seq <> below + 1""",
    )
    facts = narrowed(db)
    odd = f"SELECT lane FROM ({facts['stored']})"
    return {**facts, "stored": f"SELECT * FROM stored WHERE lane IN (FROM torn UNION {odd})"}
