"""log_order: each message has one seq, each seq one message, and seq follows real time.

A message may be tried several times (retries by id). It was appended after its first try began and before its first
acknowledgement came, so those are its two ends. If the publish of seq 7 returned before that of seq 5 began, then 5
was given after 7: in seq order, the latest beginning so far must never lie behind a return. A running maximum finds
this in one pass over the sorted messages; no search is needed, because the bus tells the seq.
"""

from __future__ import annotations

from busproof.checks.facts import Facts
from busproof.checks.verdict import Verdict, Witness, judged


def check(facts: Facts) -> Verdict:
    """O(n log n): two sorts."""
    acknowledged = [p for p in facts.publishes if p.outcome == "ok" and p.id is not None and p.seq is not None]
    witnesses = _doubled(acknowledged_pairs(facts))
    begins: dict[str, int] = {}
    for tried in facts.publishes:
        if tried.outcome != "fail" and tried.id is not None:
            begins[tried.id] = min(tried.begin, begins.get(tried.id, tried.begin))
    first: dict[str, tuple[int, int]] = {}  # id → first return and its seq
    for p in acknowledged:
        assert p.id is not None and p.seq is not None
        first[p.id] = min((p.end, p.seq), first.get(p.id, (p.end, p.seq)))
    latest: tuple[int, int, int] | None = None  # latest beginning so far, its return, its seq
    for seq, end, begin in sorted((seq, end, begins[id_]) for id_, (end, seq) in first.items()):
        if latest is not None and latest[0] > end:
            witnesses.append(Witness((end, latest[1]), "order_reversed", seq, latest[2]))
        latest = max(latest or (begin, end, seq), (begin, end, seq))
    return judged("log_order", witnesses, len(acknowledged), facts.unknown_because)


def acknowledged_pairs(facts: Facts) -> dict[tuple[str, int], int]:
    """(id, seq) → the first event that acknowledged it."""
    pairs: dict[tuple[str, int], int] = {}
    for p in facts.publishes:
        if p.outcome == "ok" and p.id is not None and p.seq is not None:
            pairs[p.id, p.seq] = min(p.end, pairs.get((p.id, p.seq), p.end))
    return pairs


def _doubled(pairs: dict[tuple[str, int], int]) -> list[Witness]:
    by_seq: dict[int, list[int]] = {}
    by_id: dict[str, list[tuple[int, int]]] = {}
    for (id_, seq), end in pairs.items():
        by_seq.setdefault(seq, []).append(end)
        by_id.setdefault(id_, []).append((end, seq))
    found = [Witness((min(ends), max(ends)), "seq_doubled", seq) for seq, ends in by_seq.items() if len(ends) > 1]
    for moves in by_id.values():
        if len(moves) > 1:
            (one, was), (two, now) = min(moves), max(moves)
            found.append(Witness((one, two), "id_moved", was, now))
    return found
