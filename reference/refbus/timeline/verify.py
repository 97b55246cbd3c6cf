"""The whole record, as it stands; and is it what was recorded? Every hash is computed anew, and held against that."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypedDict

from refbus.kernel import jsontext
from refbus.kernel.errors import BusError, InvalidArgument, NotFound
from refbus.kernel.verdict import verdict
from refbus.timeline import keys, token
from refbus.timeline.fork import Row, as_row
from refbus.timeline.keys import Fork
from refbus.timeline.lineage import Lineage
from refbus.timeline.message import Message, Node, Place, as_message, link
from refbus.timeline.queue import Branch, Origin
from refbus.timeline.store import Store

PAGE = 500


class Fault(TypedDict):
    """Where a timeline is not what was recorded, and how it shows."""

    timeline: str
    number: int
    fault: str


class Verified(TypedDict):
    """verify: how many messages were looked at, and all faults."""

    ok: bool
    checked: int
    faults: list[Fault]


class Dumped(TypedDict):
    """dump: every message by timeline and number, the timelines, messages in hands, and the store's health (`ok`)."""

    messages: list[Message]
    timelines: list[Row]
    deliveries: list[dict[str, Any]]
    integrity: str


class Verify:
    """verify and dump."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def verify(self, timeline: str | None = None, head: str | None = None) -> Verified:
        """Compute the chain anew: of a timeline and its ancestors, or of all.

        `head` is the hash that the timeline's last message is believed to have: a caller that keeps it elsewhere also
        finds a record that was cut off or written anew from end to end. Errors: NOT_FOUND, INVALID_ARGUMENT.
        """
        if timeline is None and head is not None:
            raise InvalidArgument("head is a timeline's: say which")
        if head is not None and type(head) is not str:
            raise InvalidArgument("head is the text of a hash")
        branches = {branch.timeline: branch for branch in self.store.queue.branches()}
        wanted = list(branches)
        if timeline is not None:
            wanted = [token.encode(token.name("timeline", timeline))]
            if wanted[0] not in branches:
                raise NotFound(f"there is no timeline {timeline!r:.100}")
            while (origin := branches[wanted[-1]].origin) and origin.parent in branches and len(wanted) < len(branches):
                wanted.append(origin.parent)
        # As they stand now: those read before may have changed since. Many forks may leave one message.
        place = functools.cache(Lineage(self.store, branches).place)
        checked, faults = 0, []
        for name in wanted:
            count, branch_faults = self.examine(branches[name], place)
            checked += count
            faults += branch_faults
        contradictions = self.store.queue.contradictions()  # of timelines, too, that have messages and are not there
        faults += [_fault(*finding) for finding in contradictions if timeline is None or finding[0] in wanted]
        if timeline is not None and head is not None and branches[wanted[0]].last.hash != head:
            faults.append(_fault(wanted[0], branches[wanted[0]].last.number, "the last hash is not the one expected"))
        reply: Verified = {"ok": not faults, "checked": checked, "faults": faults}
        return verdict(reply)

    def dump(self) -> Dumped:
        """All rows that say what happened."""
        queue = self.store.queue
        branches = queue.branches()
        return {
            "messages": [as_message(node) for branch in branches for node in self._own(branch)],
            "timelines": [as_row(branch) for branch in branches],
            "deliveries": queue.held(),
            "integrity": queue.integrity(),
        }

    def examine(self, branch: Branch, place: Callable[[str, int], Place]) -> tuple[int, list[Fault]]:
        """One timeline's own messages: their number, and their faults."""
        faults: list[Fault] = []
        last = _start(branch, place, faults)
        checked, has_passed = 0, last == branch.last
        for node in self._own(branch):
            checked += 1
            if checked == 1 and _begins(node) != branch.origin:
                faults.append(_fault(branch.timeline, node.number, "the first message is not the fork that is said"))
            faults += [_fault(branch.timeline, node.number, says) for says in _wrong(node, last, branch.timeline)]
            last = node.place
            has_passed |= last == branch.last
        if last != branch.last and not (has_passed and self._has_moved_on(branch, last)):
            faults.append(_fault(branch.timeline, branch.last.number, "the chain does not end where its head says"))
        return checked, faults

    def _has_moved_on(self, branch: Branch, last: Place) -> bool:
        """Does the head stand at the last message by now, or behind it? Then somebody sends while we look."""
        now = self.store.queue.branch(branch.timeline)
        return now is not None and now.last.number >= last.number

    def _own(self, branch: Branch) -> Iterator[Node]:
        last = -1  # a number that was changed may be any
        while page := self.store.queue.read(branch.timeline, last, PAGE):
            yield from page
            if len(page) < PAGE:
                break
            last = page[-1].number


def _start(branch: Branch, place: Callable[[str, int], Place], faults: list[Fault]) -> Place:
    """The place before the timeline's first message, as its parent has it now."""
    if branch.origin is None:
        return Place()
    try:
        return place(token.decode(branch.origin.parent), branch.origin.at)
    except BusError:
        faults.append(_fault(branch.timeline, branch.origin.at, "the fork point is not there"))
        return Place(branch.origin.at)


def _begins(node: Node) -> Origin | None:
    """Where the first message of a timeline says that it began; None: it is no fork."""
    try:
        if isinstance(keys.parse(node.subject), Fork):
            origin = jsontext.decode(node.payload)
            return Origin(token.encode(origin["parent"]), origin["at"])
    except (BusError, ValueError, TypeError, KeyError):
        pass
    return None


def _wrong(node: Node, last: Place, timeline: str) -> Iterator[str]:
    if node.number != last.number + 1:
        yield f"number {node.number} follows {last.number}"
    if node.previous != last.hash:
        yield "previous is not the hash before it"
    if node.hash != link(*node[:-1]):
        yield "the hash is not that of its fields"
    try:
        if token.encode(keys.parse(node.subject).timeline) != timeline:
            yield "the subject is another timeline's"
    except BusError:
        yield "the subject is none"


def _fault(timeline: str, number: int, says: str) -> Fault:
    return {"timeline": token.shown(timeline), "number": number, "fault": says}
