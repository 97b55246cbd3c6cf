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
    for content in facts.contents:
        by_message[content.lane, content.message].append(content)
    witnesses = [witness for of_one in by_message.values() for witness in _of_message(of_one)]
    shown = sum(not c.is_sent for c in facts.contents)
    return judged("content", witnesses, shown, facts.known.unknown_because)


def _of_message(contents: list[Content]) -> list[Witness]:
    sent = {c.digest for c in contents if c.is_sent}
    shown = sorted((c for c in contents if not c.is_sent), key=lambda c: c.end)
    altered = [c for c in shown if sent and None not in sent and c.digest not in sent]
    if altered:
        return [Witness((c.end,), "altered", of=c.message) for c in altered]
    kind = "chain_broken" if contents[0].lane.startswith(CHAIN) else "differs"
    return [Witness((shown[0].end, c.end), kind, of=c.message) for c in shown[1:] if c.digest != shown[0].digest]
