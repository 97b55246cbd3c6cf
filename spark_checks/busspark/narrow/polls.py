"""polls: answers in which anything is odd, with all that they may and must show."""

from __future__ import annotations

from busspark.narrow.database import Database


def narrowed(db: Database) -> dict[str, str]:
    """An answer shows the messages in a span of its reader's view, so it is enough to count those that lie there."""
    db.make("odd", _IN_ITSELF)
    of_odd = 'WHERE "end" IN (SELECT "end" FROM odd)'
    reads, delivered = f"SELECT * FROM reads {of_odd}", f"SELECT * FROM delivered {of_odd}"
    db.make("cursors", _CURSORS)
    db.make("view", _VIEW)
    db.make("published", _PUBLISHED)
    db.make("asked", _ASKED)
    db.make("odd", f'SELECT * FROM asked WHERE "end" IN (FROM odd UNION ({_OTHERWISE})) OR ({_IS_ODD})')
    shown = f"SELECT seq FROM ({delivered}) UNION SELECT latest FROM odd"
    return {
        "reads": reads,
        "delivered": delivered,
        "jumps": "SELECT DISTINCT ON (reader) * FROM jumps",
        "acked": """SELECT DISTINCT ON (odd."end") acked.* FROM acked JOIN odd
            ON acked.reader = odd.reader AND acked.seq = cursor AND acked."begin" < odd."end" AND outcome <> 'fail'""",
        "stored": f"""SELECT * FROM stored WHERE seq IN ({shown}) OR EXISTS (
            SELECT 1 FROM odd WHERE seq > low AND seq <= most AND (addressee IS NULL OR addressee = reader))""",
        "appended": """SELECT DISTINCT ON (odd."end") appended.* FROM appended JOIN odd
            ON appended.seq = latest AND appended."end" < odd."begin" AND outcome = 'ok'""",
    }


_IN_ITSELF = """
    SELECT "end" FROM reads WHERE "rows" > "limit"
    UNION SELECT "end" FROM delivered
        WHERE (place > 0 AND NOT coalesce(seq > prev, FALSE)) OR addressee <> reader OR id IS NULL"""
_OTHERWISE = """
    SELECT "end" FROM delivered d WHERE NOT EXISTS (SELECT 1 FROM stored s
        WHERE s.seq = d.seq AND s.id = d.id AND s.addressee IS NOT DISTINCT FROM d.addressee)"""
# The furthest that each reader had asked for by the time of an ack.
_CURSORS = """
    SELECT reader, "begin", max(seq) OVER (PARTITION BY reader ORDER BY "begin") AS cursor
    FROM acked WHERE outcome <> 'fail'"""
# Each message with its place among those to all, or to its addressee.
_VIEW = """
    SELECT addressee, seq, row_number() OVER (PARTITION BY addressee ORDER BY seq) AS place
    FROM (SELECT DISTINCT addressee, coalesce(seq, 0) AS seq FROM stored)"""
# The messages that had been acknowledged to senders by a time: the latest to all, or to its addressee.
_PUBLISHED = """
    SELECT s.addressee, a."end", max(a.seq) OVER (PARTITION BY s.addressee ORDER BY a."end") AS latest
    FROM appended a JOIN stored s ON a.seq = s.seq WHERE a.outcome = 'ok'"""
# For each read: how far its cursor can have been (low), how far it reached (most), how many it got, how many lay there.
_READS = """
    SELECT reads."begin", reads."end", reads.reader, "rows" < "limit" AS has_room, coalesce(got, 0) AS got,
        coalesce(cursor, 0) AS cursor, coalesce(most, 0) AS most, least(coalesce(cursor, 0), least - 1) AS low,
        reads.reader IN (SELECT reader FROM jumps) AS has_jumped
    FROM reads
    LEFT JOIN (SELECT "end", count(*) AS got FROM delivered GROUP BY "end") g ON g."end" = reads."end"
    ASOF LEFT JOIN cursors ON reads.reader = cursors.reader AND reads."end" > cursors."begin"
"""
_ASKED = f"""
    SELECT r.*, greatest(coalesce(news.latest, 0), coalesce(mine.latest, 0)) AS latest,
        CASE WHEN got > 0 THEN coalesce(all_most.place, 0) + coalesce(my_most.place, 0)
            - coalesce(all_low.place, 0) - coalesce(my_low.place, 0) ELSE 0 END AS due
    FROM ({_READS}) r
    ASOF LEFT JOIN (FROM view WHERE addressee IS NULL) all_most ON r.most >= all_most.seq
    ASOF LEFT JOIN (FROM view WHERE addressee IS NULL) all_low ON r.low >= all_low.seq
    ASOF LEFT JOIN view my_most ON r.reader = my_most.addressee AND r.most >= my_most.seq
    ASOF LEFT JOIN view my_low ON r.reader = my_low.addressee AND r.low >= my_low.seq
    ASOF LEFT JOIN (FROM published WHERE addressee IS NULL) news ON r."begin" > news."end"
    ASOF LEFT JOIN published mine ON r.reader = mine.addressee AND r."begin" > mine."end"
"""
_IS_ODD = "NOT has_jumped AND (due <> got OR (has_room AND latest > greatest(cursor, most)))"
