"""topic_durable: the final state holds each acknowledged message once, where it was said to be, and no other."""

from __future__ import annotations

from collections import Counter

from busproof.checks.topics_facts import TopicsFacts
from busproof.checks.verdict import Verdict, Witness, judged


def check(facts: TopicsFacts) -> Verdict:
    """Sets: what was acknowledged, refused or asked for, against the final state."""
    acknowledged = [sent for sent in facts.sent if sent.outcome == "ok" and sent.message_id is not None]
    witnesses = []
    if facts.dump_at is not None:
        there = {(message.topic, message.message_id): message.seq for message in facts.stored}
        for sent in acknowledged:
            stored = there.get((sent.topic, str(sent.message_id)))
            if sent.end > facts.dump_at:
                continue
            if stored is None:
                witnesses.append(Witness((sent.end,), "lost", sent.seq or 0))
            elif stored != sent.seq:
                witnesses.append(Witness((sent.end,), "seq_changed", sent.seq or 0, stored))
        witnesses += _doubled_or_strange(facts, facts.dump_at)
    return judged("topic_durable", witnesses, len(acknowledged), facts.unknown_because or facts.no_dump)


def _doubled_or_strange(facts: TopicsFacts, dump_at: int) -> list[Witness]:
    """Only what was sent under a key can be told from another's message."""
    possible = {(s.topic, s.sender, s.key) for s in facts.sent if s.outcome != "fail"}
    refused = {(s.topic, s.sender, s.key): s.end for s in facts.sent if s.outcome == "fail"}
    keyed = [message for message in facts.stored if message.key is not None]
    found = [
        Witness((dump_at,), "row_doubled", times)
        for times in Counter((m.topic, m.sender, m.key) for m in keyed).values()
        if times > 1
    ]
    for message in keyed:
        name = (message.topic, message.sender, message.key)
        if name in possible:
            continue
        if name in refused:
            found.append(Witness((refused[name], dump_at), "refused_but_stored", message.seq))
        else:
            found.append(Witness((dump_at,), "phantom", message.seq))
    return found
