"""durable, lease and work of `mailbox`: no message is lost, doubled or passed over, judged by what readers are shown.

There is no final state. A reader's last answer that had room says what is left: a message that was answered before it
began, and that no ack names, must be in it, or, where reading takes (or the client holds the position), in an answer
before it. Three cases are apart: a message that nobody was ever shown is lost; one that was shown, was not acked and is
in the last answer no more is gone; one that an unanswered receive may have taken is no fault (at most once).

A history in which no two calls overlapped shows nothing of what happens when they do: it is unknown, not exercised.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from msgspec.structs import replace as replace_fact

from busproof.oracle.checks import lease
from busproof.oracle.checks.extract.mailbox import ACKS, CLAIMS, MAIL
from busproof.oracle.checks.facts import Appended, Delivered, Facts, Hold, Read
from busproof.oracle.checks.verdict import Verdict, Witness, judged

UNREAD = "never received to the end of its inbox"


def check(facts: Facts) -> Verdict:
    """Inbox by inbox."""
    sent = [a for a in facts.appended if a.lane == MAIL]
    reads = [r for r in facts.reads if r.lane == MAIL]
    acks = [h for h in facts.holds if h.lane == ACKS]
    answers = facts.answers()
    inboxes = defaultdict[str, list[Read]](list)
    for read in sorted(reads, key=lambda read: read.begin):
        inboxes[read.reader].append(read)
    witnesses = []
    for reader, own in inboxes.items():
        inbox = _Inbox(reader, own, answers, sent, [h for h in acks if h.holder == reader], facts)
        witnesses += inbox.witnesses()
    unknown = facts.known.unknown_because or not_exercised(sent, acks) or _unread(sent, inboxes)
    return judged("durable", witnesses, len(sent), unknown)


def _unread(sent: list[Appended], inboxes: dict[str, list[Read]]) -> str:
    """Why a loss could not be seen."""
    for reader in sorted({a.addressee for a in sent if a.outcome == "ok" and a.addressee is not None}):
        last = max((r.begin for r in inboxes.get(reader, ()) if r.rows < r.limit), default=-1)
        if any(a.addressee == reader and a.outcome == "ok" and a.end > last for a in sent):
            return f"{reader} {UNREAD}"
    return ""


def not_exercised(sent: list[Appended], acks: list[Hold]) -> str:
    """Which calls never overlapped, though there were such calls."""
    releases = [h for h in acks if h.op == "release"]
    pairs: dict[str, tuple[Iterable[Appended | Hold], Iterable[Appended | Hold]]] = {"two sends": (sent, sent)}
    if releases:
        pairs |= {"a send and an ack": (sent, releases), "two acks": (releases, releases)}
    missing = [name for name, (these, those) in pairs.items() if not overlaps(these, those)]
    return f"not exercised: never did {' nor '.join(missing)} overlap" if missing else ""


def overlaps(these: Iterable[Appended | Hold], those: Iterable[Appended | Hold]) -> int:
    """How many calls of these began while one of those was under way."""
    moments = [(c.begin, c.end, side) for side, calls in enumerate((these, those)) for c in calls]
    ends, count = [-1, -1], 0
    for begin, end, side in sorted(set(moments)):
        count += ends[1 - side] > begin
        ends[side] = max(ends[side], end)
    if these is those:
        each = sorted({(c.begin, c.end) for c in these})
        latest = itertools.accumulate((end for _, end in each), max)
        count = sum(before > begin for before, (begin, _) in zip(latest, each[1:], strict=False))
    return count


class _Inbox:
    """One reader's answers, and all that was sent to it."""

    def __init__(
        self,
        reader: str,
        reads: list[Read],
        answers: dict[int, list[Delivered]],
        sent: list[Appended],
        acks: list[Hold],
        facts: Facts,
    ) -> None:
        self.reader, self.reads, self.answers = reader, reads, answers
        self.sent = _answered(sent)
        joined = min(read.end for read in reads)
        self.own = [
            a
            for a in self.sent.values()
            if a.addressee == reader or (a.addressee is None and a.sender != reader and joined < a.begin)
        ]
        self.unanswered = sum(a.outcome == "info" and a.addressee in (None, reader) for a in sent)
        asked = sorted((h for h in acks if h.op == "release" and h.outcome != "fail"), key=_begin, reverse=True)
        self.asked = {h.key: h for h in asked}  # the first ack of each
        self.done = {h.key: h for h in sorted(acks, key=_end, reverse=True) if h.is_final}
        self.may_have_taken = any(h.op == "claim" for h in acks)  # a receive that nobody saw the end of
        self.newest_ms = facts.known.newest_ms or 0
        self.shown: dict[str, list[Read]] = defaultdict(list)
        for read in reads:
            for row in answers[read.end]:
                self.shown[str(row.id)].append(read)

    def witnesses(self) -> list[Witness]:
        """Everything that must not be."""
        return [*self._strange(), *self._again(), *self._lost(), *self._reversed()]

    def _strange(self) -> Iterable[Witness]:
        """Messages of others, and of nobody: of as many as went unanswered nobody knows the id."""
        unknown = [id_ for id_ in self.shown if id_ not in self.sent]
        for id_ in unknown[self.unanswered :]:
            yield Witness((self.shown[id_][0].end,), "invented", of=id_)
        for id_, reads in self.shown.items():
            sent = self.sent.get(id_)
            if sent is not None and sent.addressee not in (None, self.reader):
                yield Witness((sent.end, reads[0].end), "leaked", of=id_)

    def _again(self) -> Iterable[Witness]:
        """Twice in one answer; after its ack; or at all, where reading takes."""
        for id_, reads in self.shown.items():
            ends = [read.end for read in reads]
            if len(ends) > len(set(ends)):
                yield Witness((ends[0],), "doubled", of=id_)
            ack = self.done.get(id_)
            late = [read for read in reads if ack is not None and read.begin > ack.end]
            if ack is not None and late:
                yield Witness((ack.end, late[0].end), "undone", of=id_)
            if self._takes() and len(reads) > 1 and id_ not in self.done:
                yield Witness((ends[0], ends[1]), "doubled", of=id_)

    def _takes(self) -> bool:
        """Does a receive take what it shows?"""
        return any(read.is_moving for read in self.reads)

    def _lost(self) -> Iterable[Witness]:
        """What the last answer with room had to show, by itself or together with those before it."""
        last = next((read for read in reversed(self.reads) if read.rows < read.limit), None)
        if last is None:
            return
        before = self._chain(last)
        for sent in self.own:
            id_ = str(sent.id)
            is_over = sent.expires_ms is not None and sent.expires_ms <= self.newest_ms
            asked = self.asked.get(id_)
            if sent.end > last.begin or is_over or id_ in before or (asked is not None and asked.begin < last.end):
                continue
            if not self.shown.get(id_):
                if not (self._takes() and self.may_have_taken):
                    yield Witness((sent.end, last.end), "unseen", of=id_)
            elif not last.with_own or self._is_acked_with_another(sent, last):
                continue
            else:
                kind = "gone" if last.ack_through is None else "passed_over"
                yield Witness((sent.end, last.end), kind, of=id_)

    def _chain(self, last: Read) -> set[str]:
        """The messages of this answer, and of those before it that count for the same."""
        if self._takes():
            return set(self.shown)
        chains: dict[int | None, set[str]] = {}
        for read in self.reads:
            chain = set() if read.ack_through is None else chains.get(read.ack_through, set())
            shown = chain | {str(row.id) for row in self.answers[read.end]}
            if read is last:
                return shown
            if read.after is not None:
                chains[read.after] = shown
        return set()

    def _is_acked_with_another(self, sent: Appended, last: Read) -> bool:
        """Where an ack acks all before it: was a later message of this inbox acked?"""
        later = (self.sent.get(id_) for id_, ack in self.asked.items() if ack.granted and ack.begin < last.end)
        return any(other is not None and other.end > sent.begin for other in later)

    def _reversed(self) -> Iterable[Witness]:
        """Of one sender: a message that is shown first, or before, one whose send was answered before it began."""
        latest: dict[str, Appended] = {}  # of each sender, the one that began last among those shown
        seen: set[str] = set()
        ended: list[tuple[int, list[Appended]]] = []
        for read in self.reads:
            for end, rows in [pair for pair in ended if pair[0] < read.begin]:
                _note(latest, rows)
                ended.remove((end, rows))
            new = [self.sent[str(row.id)] for row in self.answers[read.end] if str(row.id) in self.sent]
            fresh = [a for a in new if str(a.id) not in seen]
            here = dict(latest)
            for sent in fresh:
                other = here.get(str(sent.sender))
                if other is not None and sent.end < other.begin:
                    yield Witness((sent.end, other.end, read.end), "reversed", of=str(sent.id))
                _note(here, [sent])
            seen.update(str(a.id) for a in fresh)
            ended.append((read.end, fresh))


def _begin(hold: Hold) -> int:
    return hold.begin


def _end(call: Appended | Hold) -> int:
    return call.end


def _answered(sent: list[Appended]) -> dict[str | None, Appended]:
    """By id, as it was first answered, and from when it was first tried: a key names the attempts at one message."""
    tried: dict[str, int] = {}
    for attempt in sent:
        if attempt.name is not None:
            tried[attempt.name] = min(attempt.begin, tried.get(attempt.name, attempt.begin))
    latest_first = sorted((a for a in sent if a.id is not None and a.outcome == "ok"), key=_end, reverse=True)
    return {a.id: replace_fact(a, begin=tried.get(a.name or "", a.begin)) for a in latest_first}


def _note(latest: dict[str, Appended], rows: Iterable[Appended]) -> None:
    for sent in rows:
        before = latest.get(str(sent.sender))
        if before is None or sent.begin > before.begin:
            latest[str(sent.sender)] = sent


def check_claims(facts: Facts) -> Verdict:
    """A name is in one pair of hands. What a holder's second claim is answered with, nobody promises."""
    return lease.check(
        Facts(holds=[h for h in facts.holds if h.lane == CLAIMS], about=facts.about), may_keep_token=True
    )


def check_work(facts: Facts) -> Verdict:
    """A job is in one pair of hands, and comes to somebody by the end of its queue."""
    holds = [h for h in facts.holds if h.lane not in (ACKS, CLAIMS)]
    hands = lease.check_deliveries(Facts(holds=holds, about=facts.about))
    came = {(h.lane, h.key) for h in holds if h.op == "claim"}
    emptied: dict[str, int] = {}
    for read in facts.reads:
        if read.lane != MAIL:
            emptied[read.lane] = max(read.begin, emptied.get(read.lane, -1))
    jobs = [a for a in facts.appended if a.lane != MAIL and a.outcome == "ok" and a.id is not None]
    lost_takes = any(h.op == "claim" and h.key == "" for h in holds)
    lost = [
        Witness((job.end,), "never_came", of=str(job.id))
        for job in jobs
        if job.end < emptied.get(job.lane, -1) and (job.lane, job.id) not in came and not lost_takes
    ]
    unknown = "" if {job.lane for job in jobs} <= emptied.keys() else "a queue was never emptied"
    reason = facts.known.unknown_because or unknown
    return replace(judged("work", [*hands.witnesses, *lost], len(jobs), reason), check="work")
