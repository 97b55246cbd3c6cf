"""What readers were shown, for the checks of a history without a final state.

A message is due to its addressee; one to all is due to each reader, other than its sender, that had read before it was
sent. A reader that asks for more than there is has been shown all that is left for it: that read is a *last look*. So
a message that was acknowledged before a reader's last look began, and that the reader was never shown, is lost. If
there was no last look after it, nobody knows.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator

from msgspec.structs import replace

from busproof.oracle.checks.facts import NO_DUMP, Appended, Delivered, Facts, Read, Stored
from busproof.oracle.checks.verdict import Witness


def as_stored(facts: Facts) -> Facts:
    """The facts, with the messages that were acknowledged under a seq, or shown, in place of a final state."""
    if facts.dump_at is not None:
        return facts
    stands: dict[tuple[str, int | None, str], Stored] = {
        (sent.lane, sent.seq, sent.id): Stored(
            sent.lane, sent.name, sent.id, sent.seq, sent.sender, sent.addressee, is_own=False, is_dead=False
        )
        for sent in facts.appended
        if sent.outcome == "ok" and sent.id is not None and sent.seq is not None
    }
    for row in facts.delivered:
        if row.id is not None and row.lane is not None:
            stored = Stored(row.lane, None, row.id, row.seq, row.sender, row.addressee, is_own=False, is_dead=False)
            stands.setdefault((row.lane, row.seq, row.id), stored)
    return replace(facts, stored=list(stands.values()))


def unseen(facts: Facts) -> str:
    """Why nobody knows whether all messages were shown; empty if there is a final state, or everyone looked."""
    if facts.dump_at is not None:
        return ""
    looks = _Looks(facts)
    for sent, readers in looks.due():
        if not readers and not looks.was_shown_to_any(sent):
            return f"{NO_DUMP}, and nobody had read, or was shown what was sent to all at event {sent.begin}"
        for reader in readers:
            if not looks.was_shown(sent, reader) and looks.last(sent, reader) is None:
                return f"{NO_DUMP}, and {reader} was not seen to read to the end after event {sent.end}"
    return ""


def lost(facts: Facts) -> list[Witness]:
    """Each acknowledged message that a reader, to whom it was due, was never shown."""
    looks = _Looks(facts)
    witnesses = []
    for sent, readers in looks.due():
        for reader in readers:
            look = looks.last(sent, reader)
            if look is not None and not looks.was_shown(sent, reader):
                witnesses.append(Witness((sent.end, look.end), "never_shown", sent.seq or 0, of=sent.id or ""))
    return witnesses


def doubled(facts: Facts) -> list[Witness]:
    """Each message that was sent once, and shown under two seqs, or twice in one answer.

    A retry that is another message is no doubling by the bus: other rows judge the ids of senders.
    """
    tries = Counter(a.id for a in facts.appended if a.outcome != "fail")
    first: dict[tuple[str | None, str | None, str], Delivered] = {}  # lane, reader, id → where it was first shown
    in_answer = set[tuple[int, str]]()
    witnesses = []
    for row in sorted(facts.delivered, key=lambda row: (row.end, row.place)):
        if row.id is None or tries[row.id] > 1:
            continue
        before = first.setdefault((row.lane, row.reader, row.id), row)
        if before.seq != row.seq:
            witnesses.append(Witness((before.end, row.end), "shown_twice", before.seq or 0, row.seq or 0, of=row.id))
        elif (row.end, row.id) in in_answer:
            witnesses.append(Witness((row.end,), "shown_twice", before.seq or 0, row.seq or 0, of=row.id))
        in_answer.add((row.end, row.id))
    return witnesses


class _Looks:
    """What each reader was shown, when it first read, and its last looks."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._shown: dict[str, set[str]] = defaultdict(set)  # reader → ids
        self._first: dict[str, int] = {}  # reader → the end of its first read
        self._last: dict[str, dict[str | None, Read]] = defaultdict(dict)  # reader → channels → its last look
        self._jumped = {jump.reader for jump in facts.jumps}
        for row in facts.delivered:
            if row.id is not None and row.reader is not None:
                self._shown[row.reader].add(row.id)
        for read in facts.reads:
            self._first[read.reader] = min(read.end, self._first.get(read.reader, read.end))
            before = self._last[read.reader].get(read.channels)
            if read.is_all and (before is None or before.begin < read.begin):
                self._last[read.reader][read.channels] = read

    def due(self) -> Iterator[tuple[Appended, list[str]]]:
        """Each acknowledged message whose time is not over, with the readers to whom it is due."""
        newest_ms = self._facts.known.newest_ms or 0
        for row in self._facts.appended:
            if row.outcome != "ok" or row.id is None or (row.expires_ms is not None and row.expires_ms <= newest_ms):
                continue
            if row.addressee is not None:
                yield row, [row.addressee]
            else:
                yield row, [name for name, end in self._first.items() if end < row.begin and name != row.sender]

    def was_shown(self, sent: Appended, reader: str) -> bool:
        """Was the reader ever shown the message?"""
        return sent.id in self._shown[reader]

    def was_shown_to_any(self, sent: Appended) -> bool:
        """Was anybody ever shown the message?"""
        return any(sent.id in ids for ids in self._shown.values())

    def last(self, sent: Appended, reader: str) -> Read | None:
        """A last look of the reader's that began after the message had been acknowledged, and would show it."""
        if reader in self._jumped:  # nobody knows what it passed over
            return None
        looks = self._last[reader].items()
        return next((look for channels, look in looks if look.begin > sent.end and _shows(channels, sent)), None)


def _shows(channels: str | None, sent: Appended) -> bool:
    return channels is None or sent.channel in json.loads(channels)
