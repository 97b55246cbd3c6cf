-- The checks of `worker` as DuckDB says them: one query a rule, each the number of violations.
-- order: one seq one message, one message one seq, and seq follows real time
SELECT count(*) FROM (SELECT 1 FROM appended WHERE outcome = 'ok' GROUP BY lane, seq HAVING count(DISTINCT id) > 1);
SELECT count(*) FROM (SELECT 1 FROM appended WHERE outcome = 'ok' GROUP BY lane, id HAVING count(DISTINCT seq) > 1);
SELECT count(*) FROM (
    SELECT "end", max(least("begin", coalesce(since, "begin"))) OVER (PARTITION BY lane ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest
    FROM appended WHERE outcome = 'ok') WHERE latest > "end";
-- durable
SELECT count(*) FROM appended a LEFT JOIN stored s USING (lane, id) WHERE a.outcome = 'ok' AND (s.id IS NULL OR s.seq <> a.seq);
SELECT count(*) FROM (SELECT 1 FROM stored GROUP BY lane, id HAVING count(*) > 1);
SELECT count(*) FROM stored s ANTI JOIN (SELECT lane, id FROM appended WHERE outcome <> 'fail') a USING (lane, id);
-- polls: as it stands in the log, nothing left out, of those to all and of those to the reader, nothing acknowledged long ago is lacking
SELECT count(*) FROM delivered d ANTI JOIN stored s ON d.seq = s.seq AND d.id = s.id AND d.addressee IS NOT DISTINCT FROM s.addressee;
SELECT count(*) FROM delivered WHERE (place > 0 AND seq <= prev) OR addressee <> reader;
SELECT count(*) FROM reads WHERE "rows" > "limit";
SELECT count(*) FROM delivered d ASOF JOIN (SELECT seq FROM stored WHERE addressee IS NULL) s ON d.seq > s.seq WHERE s.seq > d.prev;
SELECT count(*) FROM delivered d ASOF JOIN (SELECT addressee, seq FROM stored WHERE addressee IS NOT NULL) s
    ON d.reader = s.addressee AND d.seq > s.seq WHERE s.seq > d.prev;
SELECT count(*) FROM reads r ASOF JOIN (
    SELECT "end", max(seq) OVER (ORDER BY "end") AS newest FROM appended WHERE outcome = 'ok' AND addressee IS NULL) a
    ON r."begin" > a."end" WHERE r."rows" < r."limit" AND a.newest > greatest(r.before, coalesce(r.most, 0));
SELECT count(*) FROM reads r ASOF JOIN (
    SELECT addressee, "end", max(seq) OVER (PARTITION BY addressee ORDER BY "end") AS newest FROM appended WHERE outcome = 'ok') a
    ON r.reader = a.addressee AND r."begin" > a."end" WHERE r."rows" < r."limit" AND a.newest > greatest(r.before, coalesce(r.most, 0));
-- acks
SELECT count(*) FROM reads r ASOF JOIN (
    SELECT reader, "end", max(seq) OVER (PARTITION BY reader ORDER BY "end") AS most_acked FROM acked WHERE outcome = 'ok') a
    ON r.reader = a.reader AND r."begin" > a."end" WHERE r.least <= a.most_acked;
SELECT count(*) FROM acked q ASOF JOIN (
    SELECT reader, "end", max(seq) OVER (PARTITION BY reader ORDER BY "end") AS most_acked FROM acked WHERE outcome = 'ok') a
    ON q.reader = a.reader AND q."begin" > a."end" WHERE q.answer < a.most_acked;
SELECT count(*) FROM (SELECT reader, max(seq) AS asked, max(answer) AS told FROM acked WHERE outcome <> 'fail' GROUP BY reader)
    LEFT JOIN (SELECT reader, max(seq) AS stands FROM positions GROUP BY reader) USING (reader)
    WHERE told > asked OR stands > asked;
-- lease: no grant while another's lease runs, no refusal while nobody's does, tokens rise, only the holder renews and releases
SELECT count(*) FROM (
    SELECT op, granted, outcome, holder, at_ms, at_ms_min, token,
        last_value(CASE WHEN held THEN holder END IGNORE NULLS) OVER w AS held_by,
        last_value(CASE WHEN held THEN until_ms END IGNORE NULLS) OVER w AS until,
        last_value(CASE WHEN held THEN moment END IGNORE NULLS) OVER w AS held_at,
        last_value(CASE WHEN freed THEN holder END IGNORE NULLS) OVER w AS freed_by,
        last_value(CASE WHEN freed THEN moment END IGNORE NULLS) OVER w AS freed_at,
        max(CASE WHEN held AND op = 'claim' THEN token END) OVER w AS top
    FROM (SELECT *, CASE WHEN outcome = 'info' THEN "begin" ELSE "end" END AS moment,
            outcome = 'ok' AND granted AND op <> 'release' AS held, op = 'release' AND outcome <> 'fail' AND coalesce(granted, TRUE) AS freed FROM holds)
    WINDOW w AS (PARTITION BY lane, key ORDER BY moment ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
    WHERE (op = 'claim' AND granted AND outcome = 'ok' AND held_by <> holder AND until > at_ms AND NOT coalesce(freed_by = held_by AND freed_at > held_at, FALSE))
        OR (op = 'claim' AND NOT granted AND coalesce(until < at_ms_min OR freed_at > held_at, TRUE))
        OR (op = 'claim' AND granted AND token <= top)
        OR (op <> 'claim' AND granted AND held_by IS DISTINCT FROM holder);
-- export
SELECT count(*) FROM (SELECT seq, count(*) AS n FROM exported GROUP BY seq) e FULL JOIN stored s USING (seq) WHERE n IS NULL OR n > 1 OR s.seq IS NULL;
SELECT count(*) FROM exported WHERE seq < prev
