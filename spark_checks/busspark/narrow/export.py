"""export: seqs that do not stand once in the file and once in the log, and lines that fall, with their neighbours."""

from __future__ import annotations

from busspark.narrow.database import Database


def narrowed(db: Database) -> dict[str, str]:
    """Nothing falls between two of the lines that are left, so no two that were apart look as if they did."""
    db.make(
        "odd",
        """SELECT seq FROM exported GROUP BY seq HAVING count(*) > 1
           UNION (SELECT seq FROM exported EXCEPT SELECT seq FROM stored)
           UNION (SELECT seq FROM stored WHERE seq IS NOT NULL EXCEPT SELECT seq FROM exported)
           UNION SELECT unnest([seq, prev]) FROM exported WHERE seq < prev""",
    )
    of_odd = "SELECT * FROM {} WHERE seq IN (FROM odd)"
    return {
        "exports": "SELECT * FROM exports",
        "reached": "SELECT * FROM reached WHERE EXISTS (FROM reached WHERE seq < told)",
        "exported": of_odd.format("exported"),
        "stored": of_odd.format("stored"),
    }
