"""export: the last export has each message of the final state as one whole line, in seq order, and nothing else.

What exports answer that they reached does not go back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import accumulate, pairwise

from busproof.oracle.checks.facts import Facts
from busproof.oracle.checks.verdict import Verdict, Witness, judged


def check(facts: Facts) -> Verdict:
    """Compares the file's lines with the final state, and the answers of exports with those before them."""
    went_back = _went_back(facts)
    if not facts.exports:
        return judged("export", went_back, 0, "the history has no export to look at")
    at, lines = facts.exports[0].at, [line.seq for line in sorted(facts.exported, key=lambda line: line.place)]
    witnesses = [Witness((at,), "export_torn")] if facts.exports[0].torn else []
    witnesses += went_back
    witnesses += [Witness((at,), "export_doubled", seq, n) for seq, n in Counter(lines).items() if n > 1]
    witnesses += [Witness((at,), "export_unordered", x, y) for x, y in pairwise(lines) if y < x]
    present, stored = set(lines), {row.seq for row in facts.stored}
    witnesses += [Witness((at,), "export_missing", seq) for seq in stored - present if seq is not None]
    if facts.dump_at is not None:
        witnesses += [Witness((at,), "export_of_nothing", seq) for seq in present - stored]
    # An export of an empty log is exact, too, so the look at the file counts.
    return judged("export", witnesses, len(lines) + 1, facts.known.unknown_because or facts.known.no_dump)


def _went_back(facts: Facts) -> list[Witness]:
    """Against the furthest of those that had ended before it began."""
    by_end = sorted(facts.reached, key=lambda export: export.end)
    ends = [export.end for export in by_end]
    furthest = list(accumulate(((export.seq, -export.end) for export in by_end), max))  # of equal ones the first
    witnesses = []
    for export in by_end:
        place = bisect_left(ends, export.begin)
        seq, end = furthest[place - 1] if place else (export.seq, 0)
        if seq > export.seq:
            witnesses.append(Witness((-end, export.end), "export_went_back", export.seq, seq))
    return witnesses
