"""log_durable: what was acknowledged is in the final state, once, and nothing is there that nobody sent."""

from __future__ import annotations

from collections import Counter

from busproof.checks.facts import Facts
from busproof.checks.log_order import acknowledged_pairs
from busproof.checks.verdict import Verdict, Witness, judged

# The bus itself publishes these when a worker changes its state.
OWN_TYPES = ("state_change",)


def check(facts: Facts) -> Verdict:
    """Compares two sets by id."""
    if facts.dump_at is None:
        return judged("log_durable", [], 0, "the history has no final dump")
    dump_at = facts.dump_at
    stored: dict[str, int] = {}
    for row in facts.stored:
        stored[row.id] = min(row.seq, stored.get(row.id, row.seq))
    witnesses: list[Witness] = []
    for (id_, seq), end in acknowledged_pairs(facts).items():
        if id_ not in stored:
            witnesses.append(Witness((end,), "lost", seq))
        elif stored[id_] != seq:
            witnesses.append(Witness((end, dump_at), "seq_changed", seq, stored[id_]))
    # A bus that tells no seq must still keep the message.
    silent = [p for p in facts.publishes if p.outcome == "ok" and p.seq is None]
    witnesses += [Witness((p.end,), "lost") for p in silent if p.id not in stored]
    witnesses += [
        Witness((dump_at,), "row_doubled", count)
        for count in Counter(row.id for row in facts.stored).values()
        if count > 1
    ]
    witnesses += _uninvited(facts, dump_at)
    return judged("log_durable", witnesses, len(facts.publishes), facts.unknown_because)


def _uninvited(facts: Facts, dump_at: int) -> list[Witness]:
    possible = {p.id for p in facts.publishes if p.outcome != "fail"}
    refused: dict[str, int] = {}
    for p in facts.publishes:
        if p.outcome == "fail" and p.id is not None:
            refused[p.id] = max(p.end, refused.get(p.id, p.end))
    # A publish without an id whose answer was lost may be any row.
    any_row = None in possible
    found = []
    for row in facts.stored:
        if row.id in possible or row.type in OWN_TYPES:
            continue
        if row.id in refused:
            found.append(Witness((refused[row.id], dump_at), "refused_but_stored", row.seq))
        elif not any_row:
            found.append(Witness((dump_at,), "phantom", row.seq))
    return found
