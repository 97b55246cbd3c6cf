"""content: a message reads as its sender wrote it, in every answer and in the final state.

Two attempts under one name may have had different contents, as long as none of them was certainly refused; only one of
them can be shown. If nobody knows who sent a message, or what, it must still always read the same. The links of a hash
chain are contents, too: each is told by its own message and by the one that follows.
"""

from __future__ import annotations

from collections import defaultdict

from busproof.oracle.checks.facts import CHAIN, Content, Facts
from busproof.oracle.checks.verdict import Verdict, Witness, judged


def check(facts: Facts) -> Verdict:
    """Sets: the contents sent under a name, against those that were shown under it."""
    by_message: dict[tuple[str, str], list[Content]] = defaultdict(list)
    for one in facts.contents:
        by_message[one.lane, one.message].append(one)
    witnesses = [witness for of_one in by_message.values() for witness in _of_message(of_one)]
    shown = sum(not one.is_sent for one in facts.contents)
    return judged("content", witnesses, shown, facts.known.unknown_because)


def _of_message(contents: list[Content]) -> list[Witness]:
    sent = {one.digest for one in contents if one.is_sent}
    shown = sorted((one for one in contents if not one.is_sent), key=lambda one: one.end)
    altered = [one for one in shown if sent and None not in sent and one.digest not in sent]
    if altered:
        return [Witness((one.end,), "altered", of=one.message) for one in altered]
    kind = "chain_broken" if contents[0].lane.startswith(CHAIN) else "differs"
    return [
        Witness((shown[0].end, one.end), kind, of=one.message) for one in shown[1:] if one.digest != shown[0].digest
    ]
