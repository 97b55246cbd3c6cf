"""Parts of one run that were recorded on several hosts, whose clocks have nothing to do with each other.

A message was shown after its sending had begun, on whichever hosts that was. So each message that one host sent and
another showed bounds how far the one clock is ahead of the other, and messages both ways bound it from both sides.
What is left open between the bounds stays open: a call of another host than the first begins at the earliest moment
that the bounds allow, and ends at the latest. Calls whose order nobody knows overlap then, and the checks take any
order of calls that overlap for right.
"""

from __future__ import annotations

import itertools
import zlib
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from busproof.contract.history import Event, merged, scan
from busproof.oracle.checks.extract.entries import Told
from busproof.oracle.checks.extract.following import message_of
from busproof.oracle.checks.extract.taking import Taking
from busproof.oracle.checks.facts import Appended, Delivered
from busproof.systems import SYSTEMS

DRIFT_PPM = 100  # at most, of two clocks: of either crystal half of that
MESSAGES_HELD = 200_000  # of a run with more, a sample bounds the clocks as well
UNNAMED = "a host without a name"
_FAR = 2**62
Host = str
Message = tuple[str, str]  # lane, id or name


class Clocks(msgspec.Struct):
    """How far the clock of each host is ahead of the first host's, in ns, at least and at most."""

    hosts: list[Host]  # of each part
    ahead: dict[Host, tuple[int, int]] = {}
    wall: tuple[int, int] = (0, 0)  # how far the times of day are ahead of the first host's clock, likewise
    disagree: str = ""  # the reason why nobody knows

    def __str__(self) -> str:
        if self.disagree:
            return self.disagree
        first, *others = self.ahead
        offsets = [f"{host} {_seconds(sum(self.ahead[host]) // 2)} ± {_seconds(self.width(host))}" for host in others]
        return f"clocks ahead of that of {first}: {', '.join(offsets)} (calls that are nearer count as overlapping)"

    def width(self, host: Host) -> int:
        """The half of what is left open."""
        low, high = self.ahead[host]
        return -(-(high - low) // 2)

    def as_of_one(self, parts: Iterable[Iterator[Event]]) -> list[Iterator[Event]]:
        """The events of each part by the clock of the first host, in that order."""
        numbers = itertools.count()
        return [self._widened(part, *self.ahead[host], numbers) for host, part in zip(self.hosts, parts, strict=True)]

    def _widened(self, part: Iterator[Event], low: int, high: int, numbers: Iterator[int]) -> Iterator[Event]:
        """Each call has a process of its own: it may begin before the one that its process called before ends."""
        process_of: dict[int, int] = {}
        late = deque[Event]()  # ends that are not yet due
        for event in part:
            earliest, latest = event.mono_ns - high, event.mono_ns - low
            while late and late[0].mono_ns <= earliest:
                yield late.popleft()
            if event.type == "invoke":
                process_of[event.process] = next(numbers)
            event.process = process_of.get(event.process, event.process)
            if event.type in ("header", "invoke"):
                event.mono_ns, event.wall_ms = earliest, (earliest + self.wall[0]) // 1_000_000
                yield event
            else:
                event.mono_ns, event.wall_ms = latest, -(-(latest + self.wall[1]) // 1_000_000)
                late.append(event)
        yield from late


def _seconds(ns: int) -> str:
    return f"{ns / 1e9:,.6f} s"


def side_by_side(parts: Sequence[Iterator[Event]], clocks: Clocks | None) -> Iterator[Event]:
    """One history of these parts."""
    if len(parts) == 1:
        return parts[0]
    return merged(clocks.as_of_one(parts) if clocks is not None and not clocks.disagree else parts)


def compared(parts: list[Path]) -> Clocks | None:
    """The clocks of these parts of one run; None if all are of one host."""
    firsts = [event for part in parts if isinstance(event := next(scan(part), None), Event)] if len(parts) > 1 else []
    of_parts = [first.host or UNNAMED for first in firsts]
    if len(set(of_parts)) < 2:
        return None
    by_host: dict[Host, _Seen] = defaultdict(_Seen)
    messages = _Messages()
    for host, part in zip(of_parts, parts, strict=True):
        by_host[host].take(host, part, messages)
    hosts = sorted(by_host, key=lambda host: (-by_host[host].lines, host))
    drift = max(seen.last_ns - seen.first_ns for seen in by_host.values()) * DRIFT_PPM // 1_000_000
    most = _shortest(hosts, {pair: ns + drift for pair, ns in messages.bounds().items()})
    first = hosts[0]
    for host in hosts:
        if most.get((host, host), 0) < 0:
            why = "however they stand, some message was shown before its sending began"
            return Clocks(of_parts, disagree=f"clocks disagree: {why}")
        if host != first and not {(first, host), (host, first)} <= most.keys():
            why = "each must be shown a message that the other sent, or one that knows of it"
            return Clocks(of_parts, disagree=f"nobody knows how the clocks of {first} and {host} stand: {why}")
    ahead = {host: (-most[host, first], most[first, host]) if host != first else (0, 0) for host in hosts}
    wall = [(ahead[host][0] + seen.wall_min, ahead[host][1] + seen.wall_max) for host, seen in by_host.items()]
    return Clocks(of_parts, ahead, (min(low for low, _ in wall), max(high for _, high in wall)))


def _shortest(hosts: list[Host], most: Mapping[tuple[Host, Host], int]) -> dict[tuple[Host, Host], int]:
    """The bounds by way of any host."""
    all_ = dict(most)
    for by, this, other in itertools.product(hosts, repeat=3):
        if (this, by) in all_ and (by, other) in all_:
            way = all_[this, by] + all_[by, other]
            all_[this, other] = min(way, all_.get((this, other), way))
    return all_


class _Seen:
    """The clocks of a host, as its parts show them."""

    def __init__(self) -> None:
        self.lines = 0
        self.first_ns, self.last_ns = _FAR, -_FAR
        self.wall_min, self.wall_max = _FAR, -_FAR

    def take(self, host: Host, part: Path, messages: _Messages) -> None:
        """Look at one of them."""
        events = self._timed(event for event in scan(part) if isinstance(event, Event))
        first = next(events)
        for entry in Taking(SYSTEMS[first.system].facts).entries(itertools.chain([first], events)):
            for fact in entry.facts if type(entry) is Told else ():
                if type(fact) is Appended:
                    messages.sent(host, fact)
                elif type(fact) is Delivered:
                    messages.shown(host, fact)

    def _timed(self, events: Iterable[Event]) -> Iterator[Event]:
        """With the time in the place of the index: so facts tell it."""
        for event in events:
            self.lines += 1
            event.index = at = event.mono_ns
            wall = event.wall_ms * 1_000_000 - at
            self.first_ns, self.last_ns = min(self.first_ns, at), max(self.last_ns, at)
            self.wall_min, self.wall_max = min(self.wall_min, wall), max(self.wall_max, wall + 1_000_000)
            yield event


class _Messages:
    """When each was first tried, and when each host was first shown it; a sample, if there are many."""

    def __init__(self) -> None:
        self._share = 1  # one in so many is held
        self._tried: dict[Message, tuple[Host, int] | None] = {}  # None: on several hosts, and nobody knows on which
        self._message_of: dict[Message, Message] = {}  # by the id that the bus gave it
        self._shown: dict[Message, dict[Host, int]] = {}

    def sent(self, host: Host, attempt: Appended) -> None:
        """It may have been appended as soon as this began."""
        message = attempt.lane, attempt.message or ""
        if attempt.outcome == "fail" or not self._is_held(message):
            return
        before = self._tried.setdefault(message, (host, attempt.begin))
        if before is not None:
            self._tried[message] = (host, min(before[1], attempt.begin)) if before[0] == host else None
        if attempt.id is not None:
            other = self._message_of.setdefault((attempt.lane, attempt.id), message)
            if other != message:  # nobody knows which of them was shown
                self._tried[other] = self._tried[message] = None
        self._thin_out()

    def shown(self, host: Host, row: Delivered) -> None:
        """It had been appended when this ended."""
        lane, id_ = message_of(row)
        if id_ is not None and self._is_held((lane, id_)):
            ends = self._shown.setdefault((lane, id_), {})
            ends[host] = min(row.end, ends.get(host, row.end))
            self._thin_out()

    def _is_held(self, message: Message) -> bool:
        return zlib.crc32(message[1].encode()) % self._share == 0

    def _thin_out(self) -> None:
        while len(self._tried) + len(self._shown) > MESSAGES_HELD:
            self._share *= 2
            for held in (self._tried, self._message_of, self._shown):
                for message in [message for message in held if not self._is_held(message)]:
                    del held[message]

    def bounds(self) -> dict[tuple[Host, Host], int]:
        """For (one, other): the clock of the other is at most so far ahead of that of the one."""
        most: dict[tuple[Host, Host], int] = {}
        for id_, ends in self._shown.items():
            if (sent := self._tried.get(self._message_of.get(id_, id_))) is None:
                continue
            for host, end in ends.items():
                pair, ahead = (sent[0], host), end - sent[1]
                most[pair] = min(ahead, most.get(pair, ahead))
        return most
