"""A run of chaos: up to eight acts, each deciding the catalogue rows whose check is named after it.

    chaos.random_kills   agents side by side, killed again and again; then everything is read and judged
    chaos.kill_points    every operation killed at every change it makes
    chaos.power_loss     the disks that may be left when the power goes, at every step of a session of all operations
    chaos.holds          a process stands still at each change and lock of an operation, while a peer works; then any
                         call of a drawn program, while any others come
    chaos.disk_full      every level of a full disk; every change fails once, for lack of space or with an I/O error
    chaos.damage         single bits are flipped, files are taken from under a live process
    chaos.waits          a reader that waits stands still in its looks until its news is there
    chaos.gone_callers   a call is cancelled, its client disconnects, or both are killed, at each change that it makes

An act that was not asked for decides nothing. One that could not run, or was cut short (`limits`), is never green. One
that is not known for a system (`Subject.acts`) cannot be asked for. A bus on a server, whose files are not in its
folder, gets random kills alone, and the server is killed, too.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Literal
from uuid import uuid4

from buschaos import damage, diskfull, judge, plan, reading, schedules, shares, workload
from buschaos.bus import RunFailed, must_be_a_process
from buschaos.crashpoints import CrashPoints, PointResult, cuts, in_the_middle
from buschaos.gone import CASES, Case, GoneCallers
from buschaos.holds import Holds
from buschaos.lanes import Lanes
from buschaos.limits import INTERRUPTED, Enough, Progress, Time
from buschaos.nemeses import disk, server, syscalls
from buschaos.operations import WAITS_S, Operation
from buschaos.points import Place, Point
from buschaos.power import IMAGES_OF_SESSION, PowerLoss
from buschaos.sessions import Durability, PowerResult
from buschaos.state import Problem
from buschaos.subjects import SUBJECTS
from busproof.bus.base import DoorError
from busproof.bus.fleet import Fleet
from busproof.contract import HelloReply
from busproof.contract.history import read
from busproof.words import reason

ActName = Literal[
    "chaos.random_kills",
    "chaos.kill_points",
    "chaos.power_loss",
    "chaos.holds",
    "chaos.disk_full",
    "chaos.damage",
    "chaos.waits",
    "chaos.gone_callers",
]


ERRORS = (errno.ENOSPC, errno.EIO, errno.EMFILE, errno.EROFS)
WITH_OTHERS = "points at which others worked"
SHORT = "short"  # in a list of errors: a write that takes a part of its bytes


@dataclass
class Act:
    """The findings of one act."""

    name: ActName
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[Problem, Path]] = field(default_factory=list)  # each with the history that shows it
    undecided: list[str] = field(default_factory=list)
    could_not_run: str | None = None
    broke_off: str = ""  # the same, if it had begun
    ended_by: str = ""  # the reason why it was cut short, other than the time
    left_out: Counter[str] = field(default_factory=Counter)  # for which there was no time
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0  # that it took
    nouns: frozenset[str] | None = None  # of the operations that were asked for; None: all there are
    progress: Progress = field(default_factory=Progress)

    def add(self, problems: list[Problem], history: Path) -> None:
        """Take in problems that one history shows."""
        self.take([(problem, history) for problem in problems])

    def take(self, shown: list[tuple[Problem, Path]]) -> None:
        """Take in problems, each with the history that shows it. Raises Enough."""
        self.problems += shown
        for problem, _ in shown:
            self.progress.found(problem, self.name)

    @property
    def cut_short(self) -> str:
        """The reason why not all of it was played, and the parts left out; empty if all was played."""
        left_out = ", ".join(f"{count:,} {what}" for what, count in self.left_out.items() if count)
        return self.ended_by or (left_out and f"the time was over, left out: {left_out}")


@dataclass(frozen=True)
class Settings:
    """The acts to play, and how much of each."""

    specs: list[str]
    out: Path
    system: str
    seed: int = 0
    kills: int | None = None
    calls: int | None = None  # for each of these kills
    points: bool = False
    power: int | None = None  # distinct images to check
    deaths: int | None = None  # places of an operation at which somebody dies before the power goes
    resumes: bool = False  # power cuts go on where a run with this `out` was stopped
    durability: Durability | None = None  # instead of the one that the bus declares
    options: dict[str, Any] = field(default_factory=dict)  # with which stores are opened for power cuts
    holds: bool = False
    twice: int | None = None  # places of a pair at which both stand still
    crossed: int | None = None  # so many pairs of operations that nobody named, drawn by the seed
    against: str | None = None  # this peer's call alone
    drawn: int = 0  # programs in which any call stands still while any others come
    waits: bool = False
    disk_full: bool = False
    damage: int | None = None  # bits to flip in each kind of file
    gone: bool = False
    disk_folder: Path | None = None
    operations: tuple[Operation, ...] | None = None  # all of the system's
    at: Point | Place | None = None  # this point of them, and no other
    torn: Callable[[int], set[int]] | None = None  # as many as the system's bus can bear
    cases: tuple[Case, ...] = CASES
    levels: tuple[int, ...] | None = None  # as many as the system's bus can bear
    wants: diskfull.Wants | None = None  # of descriptors and memory; where levels are named, these alone
    errors: tuple[int, ...] = ERRORS
    sticky: tuple[bool, ...] = (False,)  # an error once, or until the call is over
    reads: bool = True  # reading fails, too
    shorts: bool = True  # writes are short, too
    time: Time = field(default_factory=Time)  # that the whole run may take, its acts in equal parts
    lanes: int = 1  # acts that are played at a time

    def __post_init__(self) -> None:
        # A bus is handed its store by an absolute path (DESIGN, Protocol): it may run in another folder.
        object.__setattr__(self, "out", self.out.resolve())

    def of(self, act: ActName) -> Settings:
        """The same, with only the operations that the act plays: one that waits would take its time elsewhere."""
        if self.operations is None:
            return self
        readers = {reader.name for reader, _ in SUBJECTS[self.system].repertoire.waits}
        its = tuple(op for op in self.operations if (op.name in readers) == (act == "chaos.waits"))
        return replace(self, operations=its)

    @property
    def asked(self) -> set[str]:
        """The acts that are asked for."""
        flags = {
            "chaos.random_kills": self.kills is not None,
            "chaos.kill_points": self.points,
            "chaos.power_loss": self.power is not None,
            "chaos.holds": self.holds or self.drawn > 0,
            "chaos.disk_full": self.disk_full,
            "chaos.damage": self.damage is not None,
            "chaos.waits": self.waits,
            "chaos.gone_callers": self.gone,
        }
        return {act for act, asked in flags.items() if asked}


@dataclass
class Run:
    """All acts of a run."""

    hello: HelloReply
    acts: list[Act]
    history: Path | None = None
    is_interrupted: bool = False


def acts_of(system: str, specs: list[str]) -> frozenset[str]:
    """The acts that can be asked for."""
    known = SUBJECTS[system].acts
    return known & {"chaos.random_kills"} if server.is_on_a_server(specs) else known


def run(settings: Settings, progress: Progress | None = None) -> Run:
    """Play the acts that are asked for. Ctrl-C and enough problems end it: the result is all that is known by then."""
    workload.must_not_be_importing_main()
    for spec in settings.specs:
        must_be_a_process(spec)
    if unknown := settings.asked - acts_of(settings.system, settings.specs):
        where = " on a server" if server.is_on_a_server(settings.specs) else ""
        raise RunFailed(f"{', '.join(sorted(unknown))} is not known for {settings.system}{where}")
    settings.out.mkdir(parents=True, exist_ok=True)
    for stale in (
        "points",
        *([] if settings.resumes else ["power"]),
        "holds",
        "schedules",
        "waits",
        "disk",
        "damage",
        "gone",
        "kills",
    ):
        shutil.rmtree(settings.out / stale, ignore_errors=True)
    (settings.out / "history.jsonl").unlink(missing_ok=True)
    with contextlib.closing(Fleet(settings.specs, system=settings.system)) as fleet:
        if (lanes := min(settings.lanes, len(settings.asked))) > 1:
            acts, why = _side_by_side(settings, lanes, progress or Progress())
        else:
            acts, why = _in_turn(settings, fleet, progress or Progress())
        hello = fleet.hello
    if acts and all(act.broke_off and not act.problems for act in acts.values()):
        # Nothing is known that a report could tell.
        raise RunFailed("; ".join(dict.fromkeys(act.broke_off for act in acts.values())))
    for name in _in_order(settings):
        acts.setdefault(name, Act(name, nouns=_nouns(settings, name), ended_by=f"not begun: {why}"))
    history = settings.out / "history.jsonl"
    return Run(
        hello, [acts[name] for name in _in_order(settings)], history if history.exists() else None, why == INTERRUPTED
    )


Acts = dict[ActName, Act]


def _in_turn(settings: Settings, fleet: Fleet, progress: Progress) -> tuple[Acts, str]:
    """The acts that were begun, one after the other, and the reason why the others were not."""
    names, acts = _in_order(settings), Acts()
    for number, name in enumerate(names):
        acts[name] = act = _played(settings, name, progress, settings.time.part(len(names) - number), fleet)
        if act.ended_by:
            return acts, act.ended_by
    return acts, ""


def _side_by_side(settings: Settings, lanes: int, progress: Progress) -> tuple[Acts, str]:
    """The same, so many at a time. Those that take long begin, or one of them would be alone in the end."""
    names = _in_order(settings)
    if not settings.time.is_limited:
        names.sort(key=lambda name: -_LONG.index(name) if name in _LONG else 1)
    at_once = Lanes[Act](lanes, progress, settings.time)
    played = at_once.play([partial(_played, settings, name) for name in names])
    for act in played.values():
        act.ended_by = act.ended_by and at_once.why  # each was interrupted, for this reason
    return {names[number]: act for number, act in played.items()}, at_once.why


def _played(settings: Settings, name: ActName, progress: Progress, time: Time, fleet: Fleet | None = None) -> Act:
    """One act. It can be sent to another process when it is over."""
    act, began = Act(name, progress=progress, nouns=_nouns(settings, name)), monotonic()
    try:
        with contextlib.ExitStack() as stack:
            fleet = fleet or stack.enter_context(contextlib.closing(Fleet(settings.specs, system=settings.system)))
            if name != "chaos.random_kills" and not reading.can_dump(fleet.hello):
                act.notes.append(reading.SHOWN_ONLY)
            _PLAYS[name](act, settings.of(name), fleet, time)
    except KeyboardInterrupt:
        act.ended_by = INTERRUPTED
    except Enough as enough:
        act.ended_by = str(enough)
    except (RunFailed, DoorError) as error:  # the others may be played nevertheless
        act.could_not_run = act.broke_off = f"it broke off: {reason(error)}"
    act.seconds, act.progress = monotonic() - began, Progress()
    return act


def _in_order(settings: Settings) -> list[ActName]:
    """The acts that are asked for. If their time is limited, those that take much come last: they have what is left."""
    asked = [name for name in _PLAYS if name in settings.asked]
    if settings.time.is_limited:
        asked.sort(key=lambda name: _LONG.index(name) if name in _LONG else -1)
    return asked


def _nouns(settings: Settings, act: str) -> frozenset[str] | None:
    """Those of the operations that are asked for and, if they are held, of the late calls of their peers."""
    if (only := settings.operations) is None:
        return None
    asked = {operation.name for operation in only}
    peers = SUBJECTS[settings.system].repertoire.peers if act == "chaos.holds" else ()
    late = {late.noun for peer in peers if asked & {*peer.against} for late in peer.late}
    return frozenset({operation.noun for operation in only} | late)


# -- the acts


def random_kills(act: Act, settings: Settings, fleet: Fleet, time: Time) -> None:
    """Play a plan, read everything, judge."""
    say = act.progress.say
    hello, out = fleet.hello, settings.out
    on_a_server = server.is_on_a_server(settings.specs)
    unsupervised = "its files are a server's" if on_a_server else syscalls.why_unavailable()
    if unsupervised:
        act.notes.append(f"no kills at system calls, kills after answers instead: {unsupervised}")
    subject = SUBJECTS[settings.system]
    drawn = plan.draw(
        settings.seed,
        settings.kills or 0,
        [*hello.nouns, *hello.features],
        subject.roles,
        supervised=not unsupervised,
        calls_per_kill=settings.calls
        or (plan.CALLS_PER_KILL_SLOW if subject.is_slow_to_start else plan.CALLS_PER_KILL),
    )
    if on_a_server:
        drawn = plan.with_server_deaths(drawn)
    readers = {role.name for role in subject.roles if role.reads}
    (out / "plan.json").write_text(json.dumps(drawn.as_json(), indent=1) + "\n", encoding="utf-8")
    # In a folder of its own, with the files that agents keep beside their store: a later run must not take them over.
    (store := out / "kills" / "store").mkdir(parents=True)
    # An audit takes histories of one name for parts of one run: another run of the same seed has another name.
    manual, name = hello.clock == "manual", f"chaos-{settings.seed}-{uuid4().hex[:8]}"
    with contextlib.ExitStack() as lasts:
        scratch = Path(lasts.enter_context(tempfile.TemporaryDirectory(prefix="busproof-chaos-")))
        part = scratch / "part-server.jsonl"
        under = lasts.enter_context(server.under(store, part, run=name)) if on_a_server else None
        tally, parts = workload.play(
            drawn,
            specs=settings.specs,
            system=settings.system,
            store=store,
            parts=scratch,
            run=name,
            manual_clock=manual,
            header=_header(settings, drawn, fleet),
            progress=lambda text: say(f"random kills: {text}"),
            limit=time,
            meanwhile=lambda round_: under.strike(drawn.server[round_]) if under else None,
        )
        act.left_out[f"of {drawn.rounds} rounds"] = tally.rounds_left
        say("random kills: reading everything, and judging")
        history = out / "history.jsonl"
        evidence = judge.read_to_the_end(
            fleet,
            store,
            [*parts, *([under.told()] if under else [])],
            history,
            run=name,
            agents=sorted({agent.name for agent in drawn.agents if agent.role in readers}),
            now_ms=drawn.now_ms(drawn.rounds),
        )
    judgement = judge.of_history(history)
    act.counts.update(
        {
            "kills": tally.kills.total(),
            "of them in the middle of a call": tally.cut_calls,
            "of these when a part was written": len(tally.halfway),
            "kills of the server": under.count if under else 0,
            "calls": tally.calls,
            "acknowledged messages": len(evidence.promises),
            "calls tried again": tally.retries,
        }
    )
    act.progress.point(tally.kills.total())
    act.notes.append("kills by kind: " + ", ".join(f"{kind} {n}" for kind, n in sorted(tally.kills.items())))
    if manual:
        wrong = sum(any(offsets) for offsets in zip(*(agent.offsets_ms for agent in drawn.agents), strict=True))
        act.notes.append(f"in {wrong} of {drawn.rounds} rounds the clocks of some agents were wrong")
    if tally.halfway:
        act.notes.append(f"a part was written, the rest never, as in {tally.halfway[0]}")
    if tally.refusals:
        told = ", ".join(f"{code} {n}" for code, n in sorted(tally.refusals.items()))
        act.notes.append(f"refusals: {told} (those that the plan does not count on are problems, below)")
    act.undecided = [*judgement.undecided, *([] if reading.can_dump(hello) else [reading.WHY_NOT])]
    if subject.retried and not evidence.promises:  # if files are sent, nothing is acknowledged
        act.undecided.append("no message was acknowledged, so none can be lost")
    act.add(
        [
            *(Problem("log", strange) for strange in tally.strange),
            *evidence.endless,
            *subject.truth.problems(evidence),
            *subject.truth.deliveries(read(history)),
            *judgement.problems,
        ],
        history,
    )


def _header(settings: Settings, drawn: plan.Plan, fleet: Fleet) -> dict[str, Any]:
    """All that a reader of the history needs to play it again."""
    digest = hashlib.sha256(json.dumps(drawn.as_json(), sort_keys=True).encode()).hexdigest()
    return {
        "plan": {"seed": drawn.seed, "kills": drawn.kills, "rounds": drawn.rounds, "sha256": digest},
        "options": {},
        "bus": settings.specs,
        "hello": [hello.model_dump() for hello in fleet.hellos],
    }


def kill_points(act: Act, settings: Settings, fleet: Fleet, time: Time) -> None:
    """Every operation, killed at every change it makes; in a mixed fleet each member is the victim once."""
    act.could_not_run = _why_no_points(fleet)
    if act.could_not_run is None:
        _points(act, settings, time, kills=True, errors=())


FULL = {"synchronous": "FULL"}  # with it the feature `synchronous` promises the level power-loss


def power_loss(act: Act, settings: Settings, fleet: Fleet, time: Time) -> None:
    """The cuts of one recorded session, judged at the level that is declared, and of another at the level of FULL."""
    act.could_not_run = _why_no_points(fleet)
    if act.could_not_run is not None:
        return
    act.progress.say("power loss: recording a session, then checking what its power cuts leave")
    is_asked_for = settings.durability is not None or settings.options
    if is_asked_for or "synchronous" not in fleet.hello.features or fleet.hello.durability == "power-loss":
        _cuts(act, settings, fleet, time)
        return
    (settings.out / "full").mkdir(exist_ok=True)
    both = (settings, replace(settings, durability="power-loss", options=FULL, out=settings.out / "full"))
    for number, one in enumerate(both):
        if not act.ended_by:
            _cuts(act, one, fleet, time.part(len(both) - number), parts=len(both))


def _with(settings: Settings) -> str:
    return "".join(f", {name} = {value}" for name, value in settings.options.items())


def _cuts(act: Act, settings: Settings, fleet: Fleet, time: Time, parts: int = 1) -> None:
    new = partial(
        PowerLoss,
        out=settings.out,
        durability=settings.durability,
        options=settings.options,
        operations=settings.operations,
        images=settings.power or None,
        deaths=settings.deaths,
        seed=settings.seed,
    )
    count = min(settings.lanes, math.ceil((settings.power or 0) / IMAGES_OF_SESSION))
    if count > 1 and settings.asked == {"chaos.power_loss"}:
        opening = partial(Fleet, settings.specs, system=settings.system)
        result, act.ended_by = shares.cut(opening, new, count, settings.resumes, act.progress, time)
        act.problems += result.problems  # the progress has heard of them
        _tell_cuts(act, settings, result)
        return
    power = new(fleet, parts=parts, resumes=settings.resumes, limit=time, tell=lambda shown: _point(act, shown))
    try:
        power.run()
    finally:
        _tell_cuts(act, settings, power.result)


def _tell_cuts(act: Act, settings: Settings, result: PowerResult) -> None:
    act.left_out.update({"images": result.left_out, "operations that die first": result.undying})
    act.counts.update({"distinct images": result.checked, "steps that were cut": result.steps})
    if result.doubt:
        act.undecided.append(result.doubt)
    if result.sessions > 1:
        act.notes.append(f"{result.sessions} sessions, {result.earlier:,} of the images checked by earlier runs")
    if result.deaths:
        act.notes.append(
            f"{result.deaths} times somebody died before a sync, another made the same call again, and the power went: "
            f"{result.after_deaths} more images"
        )
    lost = sum(count for calls, count in result.lost.items() if calls)
    most = max(result.lost, default=0)
    act.notes.append(
        f"judged at {result.durability}{_with(settings)}: {lost} of {result.checked} images lack acknowledged calls, "
        f"{most} at most; "
        f"{(result.checked - result.earlier) / max(result.seconds, 0.001):.0f} images a second; by model: "
        + ", ".join(f"{model} {count}" for model, count in sorted(result.by_model.items()))
    )


def held(act: Act, settings: Settings, fleet: Fleet, time: Time) -> None:
    """Every pair of an operation that stands still and a peer's call; others at work on its files; drawn programs."""
    act.could_not_run = _why_no_points(fleet)
    if act.could_not_run is not None:
        return
    repertoire = SUBJECTS[settings.system].repertoire
    every = repertoire.operations if settings.operations is None else settings.operations
    others = tuple(op for op in every if op.name in repertoire.others)
    is_pair, is_point = settings.against is not None or isinstance(settings.at, Place), isinstance(settings.at, Point)
    plays: list[Callable[[Time], None]] = []
    if settings.holds and not is_point:
        plays.append(lambda part: _pairs(act, settings, fleet, part))
    if settings.holds and others and not is_pair:
        asked = replace(settings, operations=others)
        plays.append(lambda part: _points(act, asked, part, kills=False, errors=(), others=True))
    if settings.drawn:
        plays.append(lambda part: _schedules(act, settings, fleet, part))
    for number, play in enumerate(plays):
        play(time.part(len(plays) - number))


def _schedules(act: Act, settings: Settings, fleet: Fleet, time: Time) -> None:
    if why := schedules.why_not(settings.system, fleet.hello):
        act.notes.append(f"no drawn programs: {why}")
        return
    folder = settings.out / "schedules"
    drawn = schedules.Schedules(settings.specs, settings.system, folder, seed=settings.seed, time=time)
    act.progress.say(f"holds: {settings.drawn} drawn programs")
    try:
        for shown in drawn.run(settings.drawn):
            _point(act, shown)
    finally:
        act.counts.update(drawn.counts)
    if time.is_over:
        act.left_out["drawn programs"] += settings.drawn - drawn.counts["drawn programs"]
    if not settings.holds:
        act.undecided.append("drawn programs can break a row; the pairs of --holds decide it")


def waits(act: Act, settings: Settings, fleet: Fleet, time: Time) -> None:
    """Readers that wait, held at every step before they sleep."""
    act.could_not_run = _why_no_points(fleet)
    if act.could_not_run is None:
        _pairs(act, settings, fleet, time, waits=True)


def _pairs(act: Act, settings: Settings, fleet: Fleet, time: Time, *, waits: bool = False) -> None:
    waited, longest_ms, left_out, not_asked, spared, answered = 0, 0, 0, 0, 0, 0
    what = act.name.removeprefix("chaos.")
    holds = Holds(
        fleet,
        settings.out,
        judge=lambda events: judge.of_events(events).problems,
        operations=settings.operations,
        twice=settings.twice,
        crossed=settings.crossed,
        only=settings.at if isinstance(settings.at, Place) else None,
        against=settings.against,
        waits=waits,
        seed=settings.seed,
        time=time,
        tell=lambda shown: _point(act, shown),
    )
    for result in holds.run():
        act.counts["points held"] += result.points
        act.counts["of them with both held"] += result.twice
        waited, left_out, not_asked = waited + result.waited, left_out + result.left_out, not_asked + result.not_asked
        longest_ms, spared = max(longest_ms, result.longest_ms), spared + result.spared
        answered += result.answered
        pair = f"{result.operation.name} against {result.peer.name}"
        act.progress.say(f"{what}: {pair}: {result.points} points, {len(result.problems)} problems")
    act.left_out.update({"whole pairs": holds.left_out, "points of pairs": left_out})
    if holds.why_no_time_passes is not None:
        act.notes.append(f"no time passed while a process stood still: {holds.why_no_time_passes}")
    if not_asked:
        act.notes.append(f"both can stand still at {not_asked:,} places more (--twice)")
    if waits and act.counts["points held"] and not answered:
        act.undecided.append("the reader or its sender was refused at every place: nobody was seen to be woken")
    if spared:
        act.notes.append(f"{spared} places more were not asked: a reader that is not woken waits {WAITS_S} s at each")
    act.notes.append(
        f"a peer waited for the process that stood still at {waited} points, and then {longest_ms} ms at most"
    )


def disk_full(act: Act, settings: Settings, fleet: Fleet, time: Time) -> None:
    """A full disk at every level, then one error at every change."""
    with tempfile.TemporaryDirectory(prefix="busproof-disk-") as scratch, contextlib.ExitStack() as stack:
        work = Path(scratch)
        if not reading.can_compare(fleet.hello, SUBJECTS[fleet.system]):
            act.could_not_run = reading.WHY_NOT
        elif settings.at is None:
            folder = settings.disk_folder
            act.could_not_run = disk.why_unavailable(work) if folder is None else disk.why_not_filled(folder)
        if act.could_not_run is not None:
            return
        slow = SUBJECTS[settings.system].is_slow_to_start
        usual = diskfull.LEVELS_OF_SLOW_STARTERS if slow else diskfull.LEVELS
        levels = usual if settings.levels is None else settings.levels
        wants = settings.wants
        if wants is None:
            wants = () if settings.levels is not None else diskfull.WANTS_FEW if slow else diskfull.WANTS
        if settings.at is not None:  # one point of one operation, and no full disk
            levels, wants = (), ()
        answers: Counter[str] = Counter()
        # Its process works in the folder: it ends first, even if a problem is the last that was asked for.
        played = diskfull.run(
            settings.specs, levels, work, settings.out, system=settings.system, folder=settings.disk_folder, wants=wants
        )
        stack.enter_context(contextlib.closing(played))
        half = time.part(2)  # the other one is for errors
        for level in played:
            is_disk = level.of == "pages"
            act.counts["levels of a full disk" if is_disk else "of too few descriptors or memory"] += 1
            act.progress.point()
            answers += level.answers if is_disk else Counter()
            told = [replace(problem, point=level.title) for problem in level.problems]
            act.add(told, settings.out / "disk" / level.name / "history.jsonl")
            if level.opened == "before":
                act.progress.say(f"disk full: {level.title}: {dict(level.answers)}")
            if half.is_over:
                played.close()
                every = 2 * len(levels) + sum(len(amounts) for _, amounts in wants)
                act.left_out["levels"] = every - sum(act.counts.values())
                break
        if levels:
            told_of = ", ".join(f"{code} {n}" for code, n in sorted(answers.items()))
            act.notes.append(f"answers on a full disk: {told_of}")
    if why := _why_no_points(fleet):
        act.notes.append(f"no errors injected at system calls: {why}")
    else:
        reads = settings.reads and not SUBJECTS[settings.system].is_slow_to_start
        _points(
            act, settings, time.part(2 if reads else 1), kills=False, errors=settings.errors, shorts=settings.shorts
        )
        if reads:
            _points(act, settings, time, kills=False, errors=(errno.EIO,), reads=True)


def damaged(act: Act, settings: Settings, fleet: Fleet, time: Time) -> None:
    """Files are taken from under a live process, then bits are flipped; our decision 0021 says what must hold."""
    if "sqlite" not in fleet.hello.features:
        act.could_not_run = "the bus does not declare that it stores in SQLite"
    elif not reading.can_dump(fleet.hello):
        act.could_not_run = reading.WHY_NOT
    if act.could_not_run is not None:
        return
    slow = SUBJECTS[settings.system].is_slow_to_start
    count = settings.damage or (damage.BITS_OF_SLOW_STARTERS if slow else damage.BITS_OF_RUN)
    with damage.damaging(settings.specs[0], settings.system, settings.out / "damage") as one:
        for what, end in one.files():
            act.counts["files taken away"] += end != damage.DID_NOT_WAIT
            _damage(act, one, f"{what}: {end}")
        for kind in damage.KINDS:
            if time.is_over:
                act.left_out["kinds of files in which bits are flipped"] += 1
                continue
            ends = one.bits(kind, count, settings.seed)
            if not ends:  # there is no such file
                continue
            act.counts["bits flipped"] += ends.total()
            told = ", ".join(f"{end} {times}" for end, times in ends.most_common())
            _damage(act, one, f"{ends.total()} bits of the {kind}: {told}")


def _damage(act: Act, one: damage.Damage, told: str) -> None:
    act.progress.say(f"damage: {told}")
    act.progress.point()
    act.notes.append(told)
    found, one.problems = one.problems, []
    act.take([(Problem("log", why, is_dialect=True), history) for why, history in found])


def gone_callers(act: Act, settings: Settings, fleet: Fleet, time: Time) -> None:
    """Every case, gone at every point; in a mixed fleet each member serves once."""
    act.could_not_run = _why_no_points(fleet)
    if not all(spec.startswith("mcp:") for spec in settings.specs):
        act.could_not_run = "only an MCP server can be told that its caller went: --bus is mcp:CMD… here"
    elif not reading.can_dump(fleet.hello):
        act.could_not_run = "the kit reads on as the same agent by the seed's tables, and the bus stores in no SQLite"
    for spec in settings.specs if act.could_not_run is None else []:
        with contextlib.closing(Fleet([spec], system=settings.system)) as alone:
            for number, result in enumerate(GoneCallers(alone, settings.out, settings.cases, time).run(), 1):
                act.counts["points"] += result.points
                act.progress.point(result.points)
                told = f"gone callers: {result.case}: {result.points} points, {len(result.problems)} problems"
                act.progress.say(told)
                act.take(result.problems)
                act.left_out["points of callers"] += result.left_out
                if time.is_over and number < len(settings.cases):
                    act.left_out[f"of {len(settings.cases)} cases"] = len(settings.cases) - number
                    break


def _why_no_points(fleet: Fleet) -> str | None:
    if not reading.can_compare(fleet.hello, SUBJECTS[fleet.system]):
        return reading.WHY_NOT
    return syscalls.why_unavailable()


def _point(act: Act, shown: list[tuple[Problem, Path]]) -> None:
    """A point was judged, and showed this."""
    act.progress.point()
    act.take(shown)


def _points(
    act: Act,
    settings: Settings,
    time: Time,
    *,
    kills: bool,
    errors: tuple[int, ...],
    reads: bool = False,
    shorts: bool = False,
    others: bool = False,
) -> None:
    what = "points killed" if kills else WITH_OTHERS if others else "errors injected"
    torn = settings.torn or (in_the_middle if SUBJECTS[settings.system].is_slow_to_start else cuts)

    def tell(point: PointResult) -> None:
        act.counts[what] += point.is_struck or not others
        told = [replace(problem, point=point.title) for problem in point.problems]
        _point(act, [(problem, (point.kept or settings.out) / "history.jsonl") for problem in told])

    kept = settings.out / "points" / ("killed" if kills else "others" if others else "reads" if reads else "errors")
    for turn in range(len(settings.specs)):
        fleet = Fleet(settings.specs[turn:] + settings.specs[:turn], system=settings.system)
        left_out = 0
        try:
            points = CrashPoints(
                fleet,
                kept / str(turn) if turn else kept,
                judge=lambda events: judge.of_events(events).problems,
                kills=kills,
                torn=torn,
                errors=errors,
                sticky=settings.sticky,
                reads=reads,
                shorts=shorts,
                others=others,
                operations=settings.operations,
                only=settings.at if isinstance(settings.at, Point) else None,
                seed=settings.seed,
                time=time.part(len(settings.specs) - turn),
                tell=tell,
            )
            for result in points.run():
                left_out += result.left_out
                if result.doubt:
                    act.undecided.append(f"{result.operation.name}: {result.doubt}")
                act.progress.say(
                    f"{act.name.partition('.')[2].replace('_', ' ')}: {result.operation.name}: {len(result.changes)} "
                    f"changes, {len(result.points)} points, {len(result.bad)} bad"
                )
        finally:
            fleet.close()
        act.left_out.update({"whole operations": points.left_out, "points of others": left_out})


_PLAYS: dict[ActName, Callable[[Act, Settings, Fleet, Time], None]] = {
    "chaos.random_kills": random_kills,
    "chaos.kill_points": kill_points,
    "chaos.power_loss": power_loss,
    "chaos.disk_full": disk_full,
    "chaos.damage": damaged,
    "chaos.gone_callers": gone_callers,
    "chaos.waits": waits,
    "chaos.holds": held,
}
# By the time that they take; there is always more of the last two.
_LONG: tuple[ActName, ...] = ("chaos.kill_points", "chaos.disk_full", "chaos.random_kills", "chaos.holds")
