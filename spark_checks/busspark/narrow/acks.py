"""acks: odd acknowledgements and reads, with those that were the furthest by then; and each reader's last one."""

from __future__ import annotations

from busspark.narrow.database import Database


def narrowed(db: Database) -> dict[str, str]:
    """The check keeps a running maximum for each reader, so only rows that raise it matter."""
    db.make("furthest", _FURTHEST)
    db.make("asked", _ASKED)
    db.make("odd_reads", _ODD_READS)
    db.make("odd_acks", _ODD_ACKS)
    db.make("wanted", _WANTED)
    reads = 'SELECT * FROM {} WHERE "end" IN (SELECT "end" FROM odd_reads)'
    return {
        "reads": reads.format("reads"),
        "delivered": reads.format("delivered"),
        "acked": 'SELECT * FROM acked WHERE (lane, reader, "begin", "end") IN (FROM wanted)',
        "positions": "SELECT * FROM positions",
        "jumps": "SELECT DISTINCT ON (lane, reader) * FROM jumps",
        "stored": "SELECT * FROM stored WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT 1",
        "appended": "SELECT * FROM appended WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT 1",
    }


# The acknowledgements that raised the maximum of their reader.
_FURTHEST = """
    SELECT * FROM (
        SELECT lane, reader, "begin", "end", seq, max(seq) OVER (PARTITION BY lane, reader ORDER BY "end"
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM acked WHERE outcome = 'ok')
    WHERE before IS NULL OR seq > before"""
# The furthest that each reader had asked for by the time of its asking.
_ASKED = """
    SELECT lane, reader, "begin", max(seq) OVER (PARTITION BY lane, reader ORDER BY "begin") AS seq
    FROM acked WHERE outcome <> 'fail'"""
_ODD_READS = """
    SELECT r."end", r.lane, r.reader, f."begin" AS acked_begin, f."end" AS acked_end
    FROM reads r ASOF LEFT JOIN furthest f ON r.lane = f.lane AND r.reader = f.reader AND r."begin" > f."end"
    WHERE r.least <= coalesce(f.seq, 0)"""
_ODD_ACKS = """
    SELECT q.lane, q.reader, q."begin", q."end", f."begin" AS acked_begin, f."end" AS acked_end, a.seq AS asked
    FROM acked q ASOF LEFT JOIN furthest f ON q.lane = f.lane AND q.reader = f.reader AND q."begin" > f."end"
    ASOF LEFT JOIN asked a ON q.lane = a.lane AND q.reader = a.reader AND q."end" > a."begin"
    WHERE q.outcome = 'ok' AND (q.answer < coalesce(f.seq, 0) OR q.answer > greatest(0, a.seq)
        OR q.seq > greatest((SELECT max(seq) FROM stored), (SELECT max(seq) FROM appended), 0))"""
_WANTED = """
    SELECT lane, reader, acked_begin, acked_end FROM odd_reads WHERE acked_end IS NOT NULL
    UNION SELECT lane, reader, "begin", "end" FROM odd_acks
    UNION SELECT lane, reader, acked_begin, acked_end FROM odd_acks WHERE acked_end IS NOT NULL
    UNION SELECT lane, reader, arg_max("begin", "end"), max("end") FROM furthest
        WHERE "end" < getvariable('dump_at') GROUP BY lane, reader
    UNION (SELECT DISTINCT ON (lane, reader, seq) lane, reader, "begin", "end" FROM acked
        WHERE outcome <> 'fail' AND (lane, reader, seq) IN (SELECT lane, reader, asked FROM odd_acks)
        ORDER BY lane, reader, seq, "begin")
    UNION (SELECT DISTINCT ON (lane, reader) lane, reader, "begin", "end" FROM acked
        WHERE outcome <> 'fail' AND "begin" < getvariable('dump_at') ORDER BY lane, reader, seq DESC)"""
