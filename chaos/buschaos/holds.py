"""Holds: a process stands still at a change or a lock, a peer works, then it goes on. Schedules, not luck.

An operation is played by a victim. At each change that it makes to the store, and at each lock that it takes or gives
back, it is held; a peer makes a call to its end, or until it waits for something that the victim has; then the victim
goes on. That is every interleaving of the two with one preemption, on any program. Then come those with two, in which
the peer is held as well and the victim goes on first (`duet`): all, or as many as are asked for.

The pairs that somebody thought of come first, each at every place. Then each operation meets every other one, itself
too, at a few places each: as many of these pairs as are asked for, drawn by the seed (`crossed`).

A reader that waits is held until its news is there (`waits`), and must be woken then.

No pair of calls needs rules of its own. The two orders in which nobody is held are played first. Their states and their
answers are the only ones that may be found and told here, no matter who stood still and where.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import queue
import random
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from buschaos import reading
from buschaos.duet import ORDERS, PASSING, WAKING, Duet, Ending, Order
from buschaos.inspector import Inspector
from buschaos.limits import LEAST_S, Time
from buschaos.nemeses import bpf
from buschaos.nemeses.syscalls import Change, Continue, Kill
from buschaos.operations import WAITS_S, Operation, applicable
from buschaos.points import Place, Point
from buschaos.snapshots import left_behind
from buschaos.stage import SESSION_METHODS, Ground, Stage, Victims
from buschaos.state import Problem, difference, short, tables
from buschaos.subjects import SUBJECTS
from buschaos.subjects.base import PeerCall, Subject
from buschaos.tape.image import is_derived
from busproof.bus.base import DoorError
from busproof.bus.doors import BusSpecError
from busproof.bus.fleet import Fleet
from busproof.bus.scratch import ROOM_OF_FEW_BYTES, scratch
from busproof.contract import HelloReply
from busproof.contract.history import Event, write

POINTS_OF_PAIR = 40  # of one operation and one peer's call; if there are more, the seed draws
PLAYS_OF_ONE = 12  # of a place that is played alone, if the peer waits there: luck says which of them goes on first
LATE_AGAIN = 8  # plays more, in all, of places whose news came a second too late, on a machine with much to do
SHARES = 4  # of the time left for each pair that one may take, as most take less than theirs
DEATHS = 3  # stores per operation, each left by a process that died in it
TWICE_OF_PAIR = 24  # of those at which both stand still: there are as many as the one's places times the other's
TWICE_OF_SLOW_STARTERS = 2
CROSSED = 40  # pairs that nobody named, and
POINTS_OF_CROSSED = 4  # places of each
CROSSED_OF_SLOW_STARTERS = 4
PAIRS_FEW, PLACES_FEW = 8, 2  # of a sample, half as many of slow starters; and places of each pair
OUR_CLOCK = "faketime:"
HOUR_MS = 3_600_000

Pair = tuple[Operation, PeerCall]
_T = TypeVar("_T")
Shown = list[tuple[Problem, Path]]  # the problems of a place, each with its history
Told = queue.SimpleQueue[Shown | None]  # of each place of a pair; None when the pair is over


@dataclass
class PairResult:
    """All points of one operation against one call of a peer."""

    operation: Operation
    peer: PeerCall
    points: int = 0
    twice: int = 0  # of them, those at which the peer stood still, too
    not_asked: int = 0  # places of both that nobody asked for
    waited: int = 0  # points at which the peer could not go on
    longest_ms: int = 0  # that it was kept waiting after the victim had gone on
    left_out: int = 0  # points for which there was no time
    answered: int = 0  # points at which neither of the two was refused
    spared: int = 0  # points left out, as a reader that was not woken once would wait as long again
    sampled_out: int = 0  # points that a sample does without
    problems: Shown = field(default_factory=list)

    def add(self, place: Place, duet: Duet) -> None:
        """Count a place that was played."""
        self.points += 1
        self.twice += place.peers > 0 or place.then > 0
        self.waited += duet.peer_waited
        self.longest_ms = max(self.longest_ms, duet.waited_ms)


class Holds:
    """Plays pairs; the victims are processes of the fleet's first bus. `tell` gets each point's problems.

    `twice` is the number of places of a pair at which both stand still, `crossed` the number of pairs that nobody
    named; `only` is one place of each pair, `against` one peer's call; `waits`: readers that wait, and nothing else.
    """

    def __init__(
        self,
        fleet: Fleet,
        out: Path,
        *,
        judge: Callable[[list[Event]], list[Problem]] = lambda _: [],
        operations: tuple[Operation, ...] | None = None,
        points: int = POINTS_OF_PAIR,
        twice: int | None = None,
        crossed: int | None = None,
        only: Place | None = None,
        against: str | None = None,
        waits: bool = False,
        seed: int = 0,
        time: Time | None = None,
        tell: Callable[[Shown], None] = lambda _: None,
    ) -> None:
        self._fleet, self._out, self._judge = fleet, out, judge
        self._time, self._tell = time or Time(), tell
        self.left_out = 0  # pairs for which there was no time
        self.sampled_out = 0  # pairs that a sample does without
        self.why_impossible = ""  # why a pair does not have the one place that was asked for
        self.why_no_time_passes: str | None = None  # while a victim stands still
        self._points, self._seed = points, seed
        self._only, self._against, self._waits = only, against, waits
        self._subject = reading.suited(SUBJECTS[fleet.system], fleet.hello)
        is_slow = self._subject.is_slow_to_start
        self._twice = (TWICE_OF_SLOW_STARTERS if is_slow else TWICE_OF_PAIR) if twice is None else twice
        self._crossed = (CROSSED_OF_SLOW_STARTERS if is_slow else CROSSED) if crossed is None else crossed
        of = self._subject.repertoire
        every = tuple(reader for reader, _ in of.waits) if waits else of.operations
        asked = every if operations is None else operations
        self._operations = [op for op in asked if is_playable(self._subject, op, fleet.hello)]
        self._numbers, self._late_left = itertools.count(), LATE_AGAIN
        self._is_enough = threading.Event()

    def run(self) -> Iterator[PairResult]:
        """Yield one result per pair, in order. Several are played side by side, one per core: most of it is waiting."""
        with scratch("holds", room_bytes=ROOM_OF_FEW_BYTES) as work, contextlib.ExitStack() as stack:
            pairs = self._pairs()
            sides: queue.SimpleQueue[_Side] = queue.SimpleQueue()
            for number in range(count := min(len(os.sched_getaffinity(0)), len(pairs))):
                fleet = self._fleet if number == 0 else stack.enter_context(self._another_fleet())
                inspector = stack.enter_context(Inspector(self._fleet.system))
                victims, peers = (stack.enter_context(self._held(turn)) for turn in (0, 1))
                clocked, others = (stack.enter_context(self._held(turn, OUR_CLOCK)) for turn in (0, 1))
                ground = Ground.new(self._subject, fleet, victims, inspector, work / f"prepared-{number}")
                sides.put(_Side(ground, peers, work, (clocked, others)))

            def play(operation: Operation, peer: PeerCall, pairs_left: int, shown: Told) -> PairResult | None:
                side = sides.get()
                try:
                    if self._time.is_over:
                        return None
                    side = replace(side, ground=side.ground.fresh(work / f"prepared-{next(self._numbers)}-again"))
                    used = side.under_our_clock() if peer.passes_ms else side
                    two = _Two(used, used.ground, operation, peer, shown)
                    return self._pair(two, self._time.part(math.ceil(pairs_left / count / SHARES), LEAST_S))
                finally:
                    sides.put(side)
                    shown.put(None)

            # Those that nobody named come last: they are drawn by the seed anyway.
            every = [pair for pair in pairs if not pair[1].is_crossed]
            few = PAIRS_FEW // 2 if self._subject.is_slow_to_start else PAIRS_FEW
            named = self._time.ordered(every, f"{self._seed}", lambda pair: pair[0].noun, few=few)
            self.sampled_out = len(every) - len(named)
            ordered = [*named, *(pair for pair in pairs if pair[1].is_crossed)]
            yield from self._in_order(play, ordered, count)

    def _pairs(self) -> list[Pair]:
        """The pairs that have a name, and as many others as are asked for; one place or one peer may be of either."""
        if self._waits:
            return [pair for pair in self._subject.repertoire.waits if pair[0] in self._operations]
        named = pairs_of(self._subject, self._operations, self._fleet.hello)
        others = crossed(self._subject, self._operations, self._fleet.hello)
        if any(peer.passes_ms for _, peer in (*named, *others)):
            self.why_no_time_passes = self._why_no_time_passes()
            if self.why_no_time_passes is not None:
                named, others = ([pair for pair in some if not pair[1].passes_ms] for some in (named, others))
        if self._against is not None:
            return [pair for pair in (*named, *others) if pair[1].name == self._against]
        if self._only is not None:
            return named
        return [*named, *_drawn(others, self._crossed, f"{self._seed} crossed")]

    def _in_order(self, play: Callable[..., PairResult | None], pairs: list[Pair], count: int) -> Iterator[PairResult]:
        """Tell the problems in the order of the pairs, those of the first unfinished one as they come."""
        with ThreadPoolExecutor(max(count, 1)) as pool:
            queues: list[Told] = [queue.SimpleQueue() for _ in pairs]
            plays = [pool.submit(play, *pair, len(pairs) - n, queues[n]) for n, pair in enumerate(pairs)]
            try:
                for shown, played in zip(queues, plays, strict=True):
                    for problems in iter(shown.get, None):
                        self._tell(problems)
                    if (result := played.result()) is not None:
                        yield result
                    else:
                        self.left_out += 1
            finally:
                self._is_enough.set()  # a pair that is still played ends after its current place
                pool.shutdown(wait=False, cancel_futures=True)

    def _another_fleet(self) -> contextlib.closing[Fleet]:
        return contextlib.closing(Fleet(self._fleet.specs, system=self._fleet.system))

    def _held(self, turn: int, under: str = "") -> contextlib.closing[Victims]:
        """Processes that can be held: of the first bus, or of the second where there is one."""
        specs = self._fleet.specs
        spec = under + specs[turn % len(specs)].removeprefix(under)
        return contextlib.closing(Victims(spec, self._fleet.system, start_ahead=False, also=bpf.LOCKS))

    def _why_no_time_passes(self) -> str | None:
        """None where the clock of every bus can be set from outside, in the middle of a call; else the reason."""
        for turn in range(len(self._fleet.specs)):
            try:
                with self._held(turn, OUR_CLOCK) as victims:
                    victims.give_back(victims.take())
            except (DoorError, BusSpecError) as error:
                return str(error)
        return None

    def _pair(self, two: _Two, time: Time) -> PairResult:
        result = PairResult(two.operation, two.peer)
        stores = list(self._after_deaths(two)) if two.peer.after_a_death else [two]
        for number, side in enumerate(stores):
            self._all_places(side, result, time.part(len(stores) - number))
        return result

    def _all_places(self, two: _Two, result: PairResult, time: Time) -> None:
        serial, changes = self._orders(two)
        if self._only is not None:
            if (last := max(self._only.ordinal, self._only.then)) > len(changes):
                pair = f"{two.operation.name} against {two.peer.name}"
                self.why_impossible = f"{pair} has no place {last}: it has {len(changes)}, its answer included"
                return
            for _ in range(PLAYS_OF_ONE):
                self._places(two, [self._only], serial, result, time)
                if result.problems or not result.waited:  # where the peer did not wait, each play is the same
                    break
            return
        seed = f"{self._seed} {two.operation.name} {two.peer.name}"
        count = min(self._points, POINTS_OF_CROSSED) if two.peer.is_crossed else self._points
        every = [Place(change.ordinal) for change in changes]
        # A reader may look again and again for as long as it waits: its first looks stand for all.
        once = every[:count] if two.peer.ends_a_wait else _drawn(every, count, seed)
        reached = self._places(two, once, serial, result, time)
        if two.peer.ends_a_wait:  # in its sleep, too
            self._places(two, [Place(0)], serial, result, time)
        if two.peer.is_crossed or two.peer.ends_a_wait or two.peer.is_whole:
            return
        both = [Place(place.ordinal, peers) for place, ordinals in reached for peers in ordinals]
        self._places(two, _drawn(both, self._twice, seed), serial, result, time)
        again = list(_at_locks(two, changes)) if two.peer.later else []
        self._places(two, _drawn(again, self._twice, seed), serial, result, time)
        result.not_asked += sum(len(places) - min(len(places), self._twice) for places in (both, again))

    def _after_deaths(self, two: _Two) -> Iterator[_Two]:
        """Play on stores left by a process that died in the operation: the next one has to clear them up.

        If it makes a file that will be gone again, a scratch file or a lock, it dies while that is there.
        """

        def stage() -> contextlib.closing[Stage]:
            return contextlib.closing(Stage(two.ground, two.operation, two.side.work / f"death-{next(self._numbers)}"))

        with stage() as whole:
            outcome = whole.play(lambda _: Continue(), records=True)
        assert outcome.base is not None
        changes = outcome.watch.changes
        left = left_behind(outcome.base, changes) or [changes[len(changes) // 2].ordinal]
        for ordinal in left[:DEATHS]:
            template = two.side.work / f"left-{next(self._numbers)}"
            with stage() as dead:
                dead.play(Point(ordinal, Kill()).decide)
                dead.leave(template)
                write(dead.events(), template.with_suffix(".jsonl"))
            yield replace(two, ground=replace(two.ground, template=template, history=template.with_suffix(".jsonl")))

    def _orders(self, two: _Two) -> tuple[list[Ending], list[Change]]:
        """The ending of each order, and the changes that the victim makes when it is first."""
        endings, changes = [], list[Change]()
        orders: tuple[Order, ...] = WAKING if two.peer.ends_a_wait else ORDERS if two.peer.later else ("victim", "peer")
        for first in PASSING if two.peer.passes_ms else orders:
            ending, duet = self._play(two, Place(0), first)
            endings.append(ending)
            changes = changes or duet.changes
            duet.close()
        return endings, changes

    def _places(
        self, two: _Two, places: list[Place], serial: list[Ending], result: PairResult, time: Time
    ) -> list[tuple[Place, list[int]]]:
        """Play them; return each with the places that the peer reached from there."""
        reached = []
        ordered = time.ordered(places, f"{self._seed} {two.operation.name} {two.peer.name}", few=PLACES_FEW)
        result.sampled_out += len(places) - len(ordered)
        for number, place in enumerate(ordered):
            if time.is_over or self._is_enough.is_set():
                result.left_out += len(ordered) - number
                break
            if two.peer.ends_a_wait and result.problems:  # each would last as long as the wait
                result.spared += len(ordered) - number
                break
            try:
                ending, duet = self._play(two, place)
            except DoorError as error:
                why = f"{two.operation.name} held against {two.peer.name} ended in: {error}"
                two.found(result, [(Problem("log", why, again=two.again(place)), two.side.work)])
                continue
            reached.append((place, duet.reached))
            result.add(place, duet)
            was_given_up = duet.stood_too_long and "NO_ANSWER" in _codes(ending)
            if was_given_up or (two.peer.ends_a_wait and duet.slept_s is None):
                result.left_out += 1
            else:
                result.answered += not _codes(ending)
                two.found(result, self._judged(two, place, duet, ending, serial))
            duet.close()
        return reached

    def _play(self, two: _Two, place: Place, first: Order | None = None) -> tuple[Ending, Duet]:
        order = first or ("meanwhile" if two.peer.ends_a_wait else "victim")
        duet = Duet(two.ground, two.side.peers, two.operation, two.peer, two.side.work / f"duet-{next(self._numbers)}")
        try:
            ending = duet.play(place, order)
        except BaseException:
            duet.close()
            raise
        if order == "meanwhile" and duet.is_late and self._late_left:
            duet.close()
            self._late_left -= 1
            return self._play(two, place, first)
        return ending, duet

    def _judged(self, two: _Two, place: Place, duet: Duet, ending: Ending, serial: list[Ending]) -> Shown:
        try:
            odd = _asleep if two.peer.ends_a_wait else _odd
            problems = [*odd(two, duet, ending, serial), *duet.judge(), *self._judge(duet.events())]
        except DoorError as error:
            problems = [Problem("log", f"afterwards the store cannot be worked on: {error}")]
        if not problems:
            return []
        where, again = duet.schedule(), two.again(place)
        kept = duet.keep(self._out / ("waits" if self._waits else "holds") / duet.folder.name, f"{where} ({again})")
        placed = [replace(problem, point=where, again=again, is_by_luck=duet.peer_waited) for problem in problems]
        return [(problem, kept / "history.jsonl") for problem in placed]


@dataclass(frozen=True)
class _Side:
    """The processes that play one pair at a time, and the folder of their stores."""

    ground: Ground
    peers: Victims
    work: Path
    clocked: tuple[Victims, Victims]  # the same two, started under a clock of the kit's

    def under_our_clock(self) -> _Side:
        """With those whose clock can be moved in the middle of a call."""
        victims, peers = self.clocked
        return replace(self, ground=replace(self.ground, victims=victims), peers=peers)


@dataclass(frozen=True)
class _Two:
    """An operation and the peer's call against it, the store on which they are played, and the queue for problems."""

    side: _Side
    ground: Ground  # of the side, or of a store that somebody left
    operation: Operation
    peer: PeerCall
    shown: Told

    def found(self, result: PairResult, problems: Shown) -> None:
        """Add the problems of one more place."""
        result.problems += problems
        self.shown.put(problems)

    def again(self, place: Place) -> str:
        """The options that play this place alone."""
        return f"--only {self.operation.name!r} --against {self.peer.name!r} --at {place}"


def _drawn(things: list[_T], count: int, seed: str) -> list[_T]:
    """Draw `count` of them, in their order; the same for the same seed."""
    if len(things) <= count:
        return things
    return [things[number] for number in sorted(random.Random(seed).sample(range(len(things)), count))]


def _at_locks(two: _Two, changes: list[Change]) -> Iterator[Place]:
    """Where the victim is about to take a file's lock, and everywhere behind that. SQLite's locks do not count."""
    for lock in changes:
        path = two.ground.template / lock.path
        is_sqlites = is_derived(lock.path) or (path.is_file() and path.read_bytes()[:6] == b"SQLite")
        if lock.call in bpf.LOCKS and not is_sqlites:
            yield from (Place(lock.ordinal, then=change.ordinal) for change in changes if change.ordinal > lock.ordinal)


def is_playable(subject: Subject, operation: Operation, hello: HelloReply) -> bool:
    """Can a process be held in it while another has the store open or, if one must be alone, while another wants it?"""
    is_session = operation.method in SESSION_METHODS
    return applicable(operation, hello) and not operation.empty_store and is_session == subject.is_alone


def pairs_of(subject: Subject, operations: Iterable[Operation], hello: HelloReply) -> list[Pair]:
    """Pair each operation with peers' calls. None is held against nothing, and no deadline is over for the peer alone.

    An operation for which nobody thought of a peer has itself, called by another process. Each has itself once more on
    a store left by a process that died in it: two that clear up after a third. Where a deadline is over for the peer,
    it is over for both in one more pair, and passes while the victim stands still in another.
    """
    declared = {*hello.nouns, *hello.features, *(["clock"] if hello.clock == "manual" else [])}
    pairs = []
    for operation in operations:
        named = [
            peer for peer in subject.repertoire.peers if set(peer.needs) <= declared and operation.name in peer.against
        ]
        itself = PeerCall("the same by another", operation.method, operation.params, (operation.name,))
        if all(peer.passes_ms for peer in named):
            named.append(itself)
        ahead = [peer for peer in named if peer.later_ms > 0]
        late = [replace(peer, name=f"{peer.name}, which is over for both", are_both_late=True) for peer in ahead]
        passing = [
            replace(peer, name=f"{peer.name}, which ends meanwhile", passes_ms=peer.later_ms, later_ms=0, late=())
            for peer in ahead
        ]
        cleared = replace(itself, name="the same by another, after a death in it", after_a_death=True)
        is_cleared = not (subject.is_slow_to_start or operation.is_at_least_once or operation.method == "close")
        pairs += [(operation, peer) for peer in (*named, *late, *passing, *([cleared] if is_cleared else []))]
    return pairs


def crossed(subject: Subject, operations: Iterable[Operation], hello: HelloReply) -> list[Pair]:
    """Pair each operation with every call, its own too, by another process: nobody thought of these pairs.

    On a clock that can be set, each also meets every call an hour later: time passes for both while it stands still.
    Operations that are promised at least once are left out: two of them may have an effect that neither order has. So
    are those that open a store in their own way, as both work on one, and pairs that have a name. If one must be alone
    with a store, no other can be there to call.
    """
    if subject.is_alone:
        return []
    declared = {*hello.nouns, *hello.features, *(["clock"] if hello.clock == "manual" else [])}
    every = [op for op in subject.repertoire.operations if is_playable(subject, op, hello) and not op.is_at_least_once]
    peers = [
        *(PeerCall(op.name, op.method, op.params, (), "alice") for op in every if not (op.is_first or op.options)),
        *(peer for peer in subject.repertoire.peers if peer.is_plain and set(peer.needs) <= declared),
    ]
    if "clock" in declared:  # what was true when the victim stood still may be over when it goes on
        lasting = [peer for peer in peers if peer.method not in subject.repertoire.forgets]
        peers += [replace(peer, name=f"{peer.name}, an hour later", passes_ms=HOUR_MS) for peer in lasting]
    held = [operation for operation in operations if operation in every]
    return [
        (operation, replace(peer, is_crossed=True))
        for operation in held
        for peer in peers
        if operation.name not in peer.against
        and not (peer.passes_ms and operation.method in subject.repertoire.forgets)
    ]


def _codes(ending: Ending) -> set[str]:
    """The codes that the two were told, if they were refused."""
    return {answer["code"] for answer in ending.told if isinstance(answer, dict) and set(answer) == {"code"}}


def _asleep(two: _Two, duet: Duet, ending: Ending, serial: list[Ending]) -> Iterator[Problem]:
    """Was it woken by the call that it waited for? If one of the two was refused, nothing came, or nobody waited."""
    assert duet.slept_s is not None
    if _codes(ending):
        return
    if duet.slept_s > WAITS_S / 2:
        why = f"{two.operation.name} went on waiting for {duet.slept_s:.0f} s when {two.peer.name} was answered"
        yield Problem(two.operation.noun, why)
    else:
        yield from _odd(two, duet, ending, serial)


def _odd(two: _Two, _: Duet, ending: Ending, serial: list[Ending]) -> Iterator[Problem]:
    """Is the ending that of one of the two orders?"""
    operation, peer = two.operation, two.peer
    if any(ending.told == order.told and tables(ending.found) == tables(order.found) for order in serial):
        return
    alike = [order for order in serial if order.told == ending.told]
    if not alike:
        both = " and ".join(short(answer) for answer in ending.told if answer is not None)
        yield Problem(operation.noun, f"{operation.name} and {peer.name} were told {both}, as in neither order")
        return
    yield Problem(
        operation.noun,
        f"{operation.name} and {peer.name} leave what neither order leaves: {difference(alike[0].found, ending.found)}",
    )
