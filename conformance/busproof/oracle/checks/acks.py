"""acks: an acknowledged message stays acknowledged, only existing ones can be; a cursor stands where an ack put it."""

from __future__ import annotations

from bisect import bisect_left

from msgspec.structs import replace

from busproof.oracle.checks import shown
from busproof.oracle.checks.facts import Acked, Facts
from busproof.oracle.checks.verdict import Verdict, Witness, judged

Reader = tuple[str, str]  # lane, reader


def check(facts: Facts) -> Verdict:
    """A running maximum of the acknowledged acks of each reader, by the time of their return."""
    acked = Acks([ack for ack in facts.acked if ack.outcome == "ok"])
    witnesses = _redelivered(facts, acked) + _answers(facts, acked)
    if facts.dump_at is not None:
        witnesses += _final(facts, acked, facts.dump_at)
    return judged("acks", witnesses, len(facts.acked), facts.known.unknown_because or shown.unseen(facts))


def _redelivered(facts: Facts, acked: Acks) -> list[Witness]:
    jumped = {(jump.lane, jump.reader) for jump in facts.jumps}
    lowest: dict[int, int] = {}
    for row in facts.delivered:
        lowest[row.end] = min(row.seq or 0, lowest.get(row.end, row.seq or 0))
    witnesses = []
    for read in facts.reads:
        reader = (read.lane, read.reader)
        seq, event = acked.before(reader, read.begin)
        if reader not in jumped and lowest.get(read.end, seq + 1) <= seq:
            witnesses.append(Witness((event, read.end), "redelivered", lowest[read.end], seq))
    return witnesses


def _answers(facts: Facts, acked: Acks) -> list[Witness]:
    newest = max([row.seq or 0 for row in facts.stored] + [sent.seq or 0 for sent in facts.appended], default=0)
    asked = _asked(facts)
    witnesses = []
    for ack in facts.acked:
        if ack.outcome != "ok":
            continue
        reader = (ack.lane, ack.reader)
        seq, event = acked.before(reader, ack.begin)
        if ack.answer is not None and ack.answer < seq:
            witnesses.append(Witness((event, ack.end), "ack_went_back", ack.answer, seq))
        if ack.answer is not None and ack.answer > (possible := asked.before(reader, ack.end)[0]):
            witnesses.append(Witness((ack.end,), "cursor_ahead", ack.answer, possible))
        if ack.seq > newest and facts.dump_at is not None:
            witnesses.append(Witness((ack.end,), "ack_beyond", ack.seq, newest))
    return witnesses


def _asked(facts: Facts) -> Acks:
    """The furthest that each reader had asked for, without being refused, by the time of its asking."""
    return Acks([replace(ack, end=ack.begin) for ack in facts.acked if ack.outcome != "fail"])


def _final(facts: Facts, acked: Acks, dump_at: int) -> list[Witness]:
    stands: dict[Reader, int] = {}
    for row in facts.positions:
        stands[row.lane, row.reader] = max(row.seq, stands.get((row.lane, row.reader), 0))
    witnesses = []
    for reader in acked.readers:
        seq, event = acked.before(reader, dump_at)
        if stands.get(reader, 0) < seq:
            witnesses.append(Witness((event, dump_at), "cursor_lost", stands.get(reader, 0), seq))
    jumped = {(jump.lane, jump.reader) for jump in facts.jumps}
    asked = _asked(facts)
    for reader, at in stands.items():
        if reader not in jumped and at > (possible := asked.before(reader, dump_at)[0]):
            witnesses.append(Witness((dump_at,), "cursor_ahead", at, possible))
    return witnesses


class Acks:
    """For each reader, the highest acknowledged ack up to a time, and the first event that acknowledged it."""

    def __init__(self, acks: list[Acked]) -> None:
        self._times: dict[Reader, list[int]] = {}
        self._highest: dict[Reader, list[tuple[int, int]]] = {}
        for ack in sorted(acks, key=lambda ack: ack.end):
            highest = self._highest.setdefault((ack.lane, ack.reader), [])
            self._times.setdefault((ack.lane, ack.reader), []).append(ack.end)
            highest.append(highest[-1] if highest and highest[-1][0] >= ack.seq else (ack.seq, ack.end))

    @property
    def readers(self) -> list[Reader]:
        """All readers."""
        return list(self._times)

    def before(self, reader: Reader, at: int) -> tuple[int, int]:
        """(seq, event); (0, 0) if there was none."""
        place = bisect_left(self._times.get(reader, []), at)
        return self._highest[reader][place - 1] if place else (0, 0)
