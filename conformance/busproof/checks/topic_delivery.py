"""topic_delivery: every sync returns what follows the reader's cursor, in order, and moves it over nothing unread.

A reader's cursor before a sync is what its last sync was answered, or the acknowledgement if that is further. From
there the messages of others follow without a gap. A reader with a sync whose answer is unknown, which may still happen
at any time, or with a cursor_reset is not followed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from itertools import pairwise

from busproof.checks.topics_facts import Synced, TopicsFacts
from busproof.checks.verdict import Verdict, Witness, judged

Log = list[tuple[int, str]]  # (seq, sender) of a topic's final state, in order


def check(facts: TopicsFacts) -> Verdict:
    """One pass over each reader's syncs, with the topic's log beside it."""
    logs: dict[str, Log] = defaultdict(list)
    for message in facts.stored:
        logs[message.topic].append((message.seq, message.sender))
    for log in logs.values():
        log.sort()
    witnesses = _stale(facts)
    cursors: dict[tuple[str, str], int] = defaultdict(int)
    for sync in facts.synced:
        reader = (sync.reader, sync.topic)
        before = max(cursors[reader], sync.ack_through or 0)
        witnesses += _in_order(sync)
        if reader not in facts.unfollowed:
            witnesses += _follows(sync, before, logs[sync.topic])
        cursors[reader] = sync.after
    return judged("topic_delivery", witnesses, len(facts.synced), facts.unknown_because or facts.no_dump)


def _in_order(sync: Synced) -> list[Witness]:
    seqs = [seq for seq, _ in sync.got]
    found = [Witness((sync.end,), "unordered", a, b) for a, b in pairwise(seqs) if b <= a]
    if not sync.include_self:
        found += [Witness((sync.end,), "own_message", seq) for seq, sender in sync.got if sender == sync.reader]
    if len(seqs) > sync.max_items:
        found.append(Witness((sync.end,), "over_limit", len(seqs), sync.max_items))
    return found


def _follows(sync: Synced, before: int, log: Log) -> list[Witness]:
    """What was received continues at the cursor; what the cursor passes was received."""
    got = {seq for seq, _ in sync.got}
    found = [Witness((sync.end,), "redelivered", seq, before) for seq in sorted(got) if seq <= before]
    passed = max([*got, sync.after if sync.auto_advance else 0])
    for seq, sender in log[bisect_right(log, (before, "\U0010ffff")) :]:
        if seq > passed:
            break
        if seq not in got and (sync.include_self or sender != sync.reader):
            found.append(Witness((sync.end,), "skipped", seq, passed))
    if not sync.auto_advance and sync.after != before:
        found.append(Witness((sync.end,), "cursor_moved", sync.after, before))
    return found


def _stale(facts: TopicsFacts) -> list[Witness]:
    """A sync with room left that ended before a message of another, acknowledged before the sync began."""
    acknowledged: dict[str, list[tuple[int, int, str]]] = defaultdict(list)  # topic → (end, seq, sender)
    for sent in facts.sent:
        if sent.outcome == "ok" and sent.seq is not None:
            acknowledged[sent.topic].append((sent.end, sent.seq, sent.sender))
    newest = {topic: _newest(sorted(ends)) for topic, ends in acknowledged.items()}
    found = []
    for sync in facts.synced:
        if len(sync.got) >= sync.max_items or not sync.auto_advance or sync.topic not in newest:
            continue
        ends, tops = newest[sync.topic]
        known = bisect_right(ends, sync.begin)
        seq = next((seq for seq, sender in tops[known] if sync.include_self or sender != sync.reader), 0)
        if seq > max(sync.after, *(seq for seq, _ in sync.got), 0):
            found.append(Witness((sync.end,), "stale", seq))
    return found


def _newest(acknowledged: list[tuple[int, int, str]]) -> tuple[list[int], list[Log]]:
    """Ends, and for each count of them the newest message and the newest of another sender."""
    tops: list[Log] = [[]]
    for _, seq, sender in acknowledged:
        best: dict[str, int] = {}
        for one, by in [*tops[-1], (seq, sender)]:
            best[by] = max(one, best.get(by, 0))
        tops.append(sorted(((one, by) for by, one in best.items()), reverse=True)[:2])
    return [end for end, _, _ in acknowledged], tops
