"""topic_order: each topic has a sequence of its own, dense from 1, and it follows real time.

As in `log_order`: a message was appended between the first try's beginning and the first acknowledgement; in seq order
the latest beginning so far must never lie behind a return.
"""

from __future__ import annotations

from collections import defaultdict

from busproof.checks.topics_facts import Sent, TopicsFacts
from busproof.checks.verdict import Verdict, Witness, judged


def check(facts: TopicsFacts) -> Verdict:
    """O(n log n): sorts."""
    tries: dict[tuple[str, int], list[Sent]] = defaultdict(list)
    for sent in facts.sent:
        if sent.outcome == "ok" and sent.seq is not None:
            tries[sent.topic, sent.seq].append(sent)
    witnesses = [
        Witness((min(s.end for s in same), max(s.end for s in same)), "seq_doubled", seq)
        for (_, seq), same in tries.items()
        if len({s.message_id for s in same}) > 1
    ]
    witnesses += _reversed(facts, tries)
    if facts.dump_at is not None:
        witnesses += _gaps(facts, facts.dump_at)
    counted = len(tries)
    return judged("topic_order", witnesses, counted, facts.unknown_because or facts.no_dump)


def _reversed(facts: TopicsFacts, tries: dict[tuple[str, int], list[Sent]]) -> list[Witness]:
    begins: dict[tuple[str, str, str | None], int] = {}
    for sent in facts.sent:
        name = (sent.topic, sent.sender, sent.key)
        if sent.outcome != "fail" and sent.key is not None:
            begins[name] = min(sent.begin, begins.get(name, sent.begin))
    found = []
    latest: dict[str, tuple[int, int, int]] = {}  # topic → latest beginning so far, its return, its seq
    for (topic, seq), same in sorted(tries.items()):
        end = min(sent.end for sent in same)
        begin = min(
            begins.get((sent.topic, sent.sender, sent.key), sent.begin) if sent.key else sent.begin for sent in same
        )
        if topic in latest and latest[topic][0] > end:
            found.append(Witness((end, latest[topic][1]), "order_reversed", seq, latest[topic][2]))
        latest[topic] = max(latest.get(topic, (begin, end, seq)), (begin, end, seq))
    return found


def _gaps(facts: TopicsFacts, dump_at: int) -> list[Witness]:
    by_topic: dict[str, list[int]] = defaultdict(list)
    for message in facts.stored:
        by_topic[message.topic].append(message.seq)
    found = []
    for seqs in by_topic.values():
        before = 0
        for seq in sorted(seqs):
            if seq != before + 1:
                found.append(Witness((dump_at,), "topic_gap", before, seq))
            before = seq
    return found
