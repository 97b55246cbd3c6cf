"""export_exact: after the last export each message of the final state is one whole line, in seq order."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from busproof.checks.facts import Facts
from busproof.checks.verdict import Verdict, Witness, judged


def check(facts: Facts) -> Verdict:
    """Compares the file's lines with the final state."""
    if facts.export is None:
        return judged("export_exact", [], 0, "the history has no export to look at")
    at, lines, torn = facts.export
    witnesses = [Witness((at,), "export_torn")] if torn else []
    witnesses += [Witness((at,), "export_doubled", seq, n) for seq, n in Counter(lines).items() if n > 1]
    witnesses += [Witness((at,), "export_unordered", x, y) for x, y in pairwise(lines) if y < x]
    present = set(lines)
    witnesses += [Witness((at,), "export_missing", row.seq) for row in facts.stored if row.seq not in present]
    # An export of an empty log is exact, too: the look at the file counts.
    return judged("export_exact", witnesses, len(lines) + 1, facts.unknown_because or facts.no_dump)
