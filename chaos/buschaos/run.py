"""A run of chaos: up to six acts, each deciding the catalogue rows whose check is named after it.

    chaos.random_kills   agents side by side, killed again and again; then everything is read and judged
    chaos.kill_points    every operation killed at every change it makes
    chaos.power_loss     what a disk may hold when the power goes, at every step of a session that plays all operations
    chaos.holds          a process stands still at each change and lock of an operation, while a peer works
    chaos.disk_full      every level of a full disk; every change told once that there is no space, or an I/O error
    chaos.gone_callers   a call is cancelled, its client disconnects, or both are killed, at each change that it makes

An act that was not asked for decides nothing. One that could not run is never green. One that is not known for a
system (`Subject.acts`) cannot be asked for.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from buschaos import diskfull, judge, plan, reading, workload
from buschaos.bus import RunFailed, must_be_a_process
from buschaos.crashpoints import CrashPoints, cuts, in_the_middle
from buschaos.gone import CASES, Case, GoneCallers
from buschaos.holds import Holds
from buschaos.nemeses import disk, syscalls
from buschaos.operations import Operation
from buschaos.points import Point
from buschaos.power import Durability, PowerLoss
from buschaos.state import Problem
from buschaos.subjects import SUBJECTS
from busproof.fleet import Fleet
from busproof.history import read
from busproof.protocol import HelloReply

ActName = Literal[
    "chaos.random_kills",
    "chaos.kill_points",
    "chaos.power_loss",
    "chaos.holds",
    "chaos.disk_full",
    "chaos.gone_callers",
]
Say = Callable[[str], None]


@dataclass
class Act:
    """What one act showed."""

    name: ActName
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[Problem, Path]] = field(default_factory=list)  # and the history that shows it
    undecided: list[str] = field(default_factory=list)
    could_not_run: str | None = None
    notes: list[str] = field(default_factory=list)

    def add(self, problems: list[Problem], history: Path) -> None:
        """Take problems in that one history shows."""
        self.problems += [(problem, history) for problem in problems]


@dataclass(frozen=True)
class Settings:
    """What to do, and how much of it."""

    specs: list[str]
    out: Path
    system: str
    seed: int = 0
    kills: int | None = None
    points: bool = False
    power: int | None = None  # distinct images to check
    durability: Durability | None = None  # instead of what the bus declares
    options: dict[str, Any] = field(default_factory=dict)  # with which stores are opened for power cuts
    holds: bool = False
    disk_full: bool = False
    gone: bool = False
    disk_folder: Path | None = None
    operations: tuple[Operation, ...] | None = None  # all of the system's
    at: Point | None = None  # this point of them, and no other
    torn: Callable[[int], set[int]] | None = None  # as many as the system's bus can bear
    cases: tuple[Case, ...] = CASES
    levels: tuple[int, ...] | None = None  # as many as the system's bus can bear
    errors: tuple[int, ...] = (errno.ENOSPC, errno.EIO, errno.EMFILE)
    sticky: tuple[bool, ...] = (False,)  # an error once, or until the call is over
    reads: bool = True  # reading fails, too

    def __post_init__(self) -> None:
        # A bus is handed its store by an absolute path (DESIGN, Protocol): it may run in another folder.
        object.__setattr__(self, "out", self.out.resolve())

    @property
    def asked(self) -> set[str]:
        """The acts that are asked for."""
        flags = {
            "chaos.random_kills": self.kills is not None,
            "chaos.kill_points": self.points,
            "chaos.power_loss": self.power is not None,
            "chaos.holds": self.holds,
            "chaos.disk_full": self.disk_full,
            "chaos.gone_callers": self.gone,
        }
        return {act for act, asked in flags.items() if asked}


@dataclass
class Run:
    """All acts of a run."""

    hello: HelloReply
    acts: list[Act]
    history: Path | None


def run(settings: Settings, say: Say = lambda _: None) -> Run:
    """Play the acts that are asked for."""
    for spec in settings.specs:
        must_be_a_process(spec)
    if unknown := settings.asked - SUBJECTS[settings.system].acts:
        raise RunFailed(f"{', '.join(sorted(unknown))} is not known for {settings.system}")
    settings.out.mkdir(parents=True, exist_ok=True)
    for stale in ("points", "power", "holds", "disk", "gone", "store"):
        shutil.rmtree(settings.out / stale, ignore_errors=True)
    fleet = Fleet(settings.specs, system=settings.system)
    try:
        result = Run(fleet.hello, [], None)
        if settings.kills is not None:
            act, result.history = random_kills(settings, fleet, say)
            result.acts.append(act)
        if settings.points:
            result.acts.append(kill_points(settings, fleet, say))
        if settings.power is not None:
            result.acts.append(power_loss(settings, fleet, say))
        if settings.holds:
            result.acts.append(held(settings, fleet, say))
        if settings.disk_full:
            result.acts.append(disk_full(settings, fleet, say))
        if settings.gone:
            result.acts.append(gone_callers(settings, fleet, say))
    finally:
        fleet.close()
    return result


# -- the acts


def random_kills(settings: Settings, fleet: Fleet, say: Say) -> tuple[Act, Path | None]:
    """Play a plan, read everything, judge."""
    act = Act("chaos.random_kills")
    hello, out = fleet.hello, settings.out
    unsupervised = syscalls.why_unavailable()
    if unsupervised:
        act.notes.append(f"no kills at system calls, kills after answers instead: {unsupervised}")
    subject = SUBJECTS[settings.system]
    drawn = plan.draw(
        settings.seed,
        settings.kills or 0,
        [*hello.nouns, *hello.features],
        subject.roles,
        supervised=not unsupervised,
        calls_per_kill=plan.CALLS_PER_KILL_SLOW if subject.is_slow_to_start else plan.CALLS_PER_KILL,
    )
    readers = {role.name for role in subject.roles if role.reads}
    (out / "plan.json").write_text(json.dumps(drawn.as_json(), indent=1) + "\n", encoding="utf-8")
    (store := out / "store").mkdir()
    manual = hello.clock == "manual"
    with tempfile.TemporaryDirectory(prefix="busproof-chaos-") as scratch:
        tally, parts = workload.play(
            drawn,
            specs=settings.specs,
            system=settings.system,
            store=store,
            parts=Path(scratch),
            run=f"chaos-{settings.seed}",
            manual_clock=manual,
            header=_header(settings, drawn, fleet),
            progress=lambda text: say(f"random kills: {text}"),
        )
        say("random kills: reading everything, and judging")
        history = out / "history.jsonl"
        evidence = judge.read_to_the_end(
            fleet,
            store,
            parts,
            history,
            run=f"chaos-{settings.seed}",
            agents=sorted({agent.name for agent in drawn.agents if agent.role in readers}),
            now_ms=drawn.now_ms(drawn.rounds),
        )
    judgement = judge.of_history(history)
    act.counts.update(
        {
            "kills": tally.kills.total(),
            "of them in the middle of a call": tally.cut_calls,
            "calls": tally.calls,
            "acknowledged messages": len(evidence.promises),
            "calls tried again": tally.retries,
        }
    )
    act.notes.append("kills by kind: " + ", ".join(f"{kind} {n}" for kind, n in sorted(tally.kills.items())))
    if tally.refusals:
        act.notes.append("refusals: " + ", ".join(f"{code} {n}" for code, n in sorted(tally.refusals.items())))
    act.add([Problem("log", strange) for strange in tally.strange], history)
    act.add([*evidence.endless, *subject.problems(evidence)], history)
    act.add(list(subject.deliveries(read(history))), history)
    act.add(judgement.problems, history)
    act.undecided = [*judgement.undecided, *([] if reading.can_dump(hello) else [reading.WHY_NOT])]
    return act, history


def _header(settings: Settings, drawn: plan.Plan, fleet: Fleet) -> dict[str, Any]:
    """What a reader of the history needs to play it again."""
    digest = hashlib.sha256(json.dumps(drawn.as_json(), sort_keys=True).encode()).hexdigest()
    return {
        "plan": {"seed": drawn.seed, "kills": drawn.kills, "rounds": drawn.rounds, "sha256": digest},
        "bus": settings.specs,
        "hello": [hello.model_dump() for hello in fleet.hellos],
    }


def kill_points(settings: Settings, fleet: Fleet, say: Say) -> Act:
    """Every operation, killed at every change it makes; in a mixed fleet each member is the victim once."""
    act = Act("chaos.kill_points", could_not_run=_why_no_points(fleet))
    if act.could_not_run is None:
        _points(act, settings, say, kills=True, errors=())
    return act


def power_loss(settings: Settings, fleet: Fleet, say: Say) -> Act:
    """The cuts of one recorded session, judged at the level that is declared."""
    act = Act("chaos.power_loss", could_not_run=_why_no_points(fleet))
    if act.could_not_run is not None:
        return act
    say("power loss: recording a session, then checking what its power cuts leave")
    result = PowerLoss(
        fleet,
        settings.out,
        durability=settings.durability,
        options=settings.options,
        operations=settings.operations,
        images=settings.power or None,
        seed=settings.seed,
    ).run()
    act.counts.update({"distinct images": result.checked, "steps that were cut": result.steps})
    act.problems += result.problems
    if result.doubt:
        act.undecided.append(result.doubt)
    lost = sum(count for calls, count in result.lost.items() if calls)
    most = max(result.lost, default=0)
    act.notes.append(
        f"declared {result.durability}: {lost} of {result.checked} images lack acknowledged calls, {most} at most; "
        f"{result.checked / max(result.seconds, 0.001):.0f} images a second; by model: "
        + ", ".join(f"{model} {count}" for model, count in sorted(result.by_model.items()))
    )
    return act


def held(settings: Settings, fleet: Fleet, say: Say) -> Act:
    """Every pair of an operation that stands still and a peer's call."""
    act = Act("chaos.holds", could_not_run=_why_no_points(fleet))
    if act.could_not_run is not None:
        return act
    waited, longest_ms = 0, 0
    holds = Holds(
        fleet,
        settings.out,
        judge=lambda history: judge.of_history(history).problems,
        operations=settings.operations,
        seed=settings.seed,
    )
    for result in holds.run():
        act.counts["points held"] += result.points
        act.problems += result.problems
        waited += result.waited
        longest_ms = max(longest_ms, result.longest_ms)
        pair = f"{result.operation.name} against {result.peer.name}"
        say(f"holds: {pair}: {result.points} points, {len(result.problems)} problems")
    act.notes.append(f"a peer waited for who stood still at {waited} points, and then {longest_ms} ms at most")
    return act


def disk_full(settings: Settings, fleet: Fleet, say: Say) -> Act:
    """A full disk at every level, then one error at every change."""
    act = Act("chaos.disk_full")
    with tempfile.TemporaryDirectory(prefix="busproof-disk-") as scratch:
        work = Path(scratch)
        if not reading.can_dump(fleet.hello):
            act.could_not_run = reading.WHY_NOT
        elif settings.disk_folder is None:
            act.could_not_run = disk.why_unavailable(work)
        else:
            act.could_not_run = disk.why_not_filled(settings.disk_folder)
        if act.could_not_run is not None:
            return act
        slow = SUBJECTS[settings.system].is_slow_to_start
        usual = diskfull.LEVELS_OF_SLOW_STARTERS if slow else diskfull.LEVELS
        levels = usual if settings.levels is None else settings.levels
        answers: Counter[str] = Counter()
        for level in diskfull.run(
            settings.specs, levels, work, settings.out, system=settings.system, folder=settings.disk_folder
        ):
            act.counts["levels of a full disk"] += 1
            answers += level.answers
            told = [replace(problem, point=level.title) for problem in level.problems]
            act.add(told, settings.out / "disk" / level.name / "history.jsonl")
            if level.opened == "before":
                say(f"disk full: {level.pages} pages free: {dict(level.answers)}")
        act.notes.append("answers on a full disk: " + ", ".join(f"{code} {n}" for code, n in sorted(answers.items())))
    if why := _why_no_points(fleet):
        act.notes.append(f"no errors injected at system calls: {why}")
    else:
        _points(act, settings, say, kills=False, errors=settings.errors)
        if settings.reads and not SUBJECTS[settings.system].is_slow_to_start:
            _points(act, settings, say, kills=False, errors=(errno.EIO,), reads=True)
    return act


def gone_callers(settings: Settings, fleet: Fleet, say: Say) -> Act:
    """Every case, gone at every point; in a mixed fleet each member serves once."""
    act = Act("chaos.gone_callers", could_not_run=_why_no_points(fleet))
    if not all(spec.startswith("mcp:") for spec in settings.specs):
        act.could_not_run = "only an MCP server can be told that its caller went: --bus is mcp:CMD… here"
    for spec in settings.specs if act.could_not_run is None else []:
        with contextlib.closing(Fleet([spec], system=settings.system)) as alone:
            for result in GoneCallers(alone, settings.out, settings.cases).run():
                act.counts["points"] += result.points
                act.problems += result.problems
                say(f"gone callers: {result.case}: {result.points} points, {len(result.problems)} problems")
    return act


def _why_no_points(fleet: Fleet) -> str | None:
    if not reading.can_dump(fleet.hello):
        return reading.WHY_NOT
    return syscalls.why_unavailable()


def _points(
    act: Act, settings: Settings, say: Say, *, kills: bool, errors: tuple[int, ...], reads: bool = False
) -> None:
    what = "points killed" if kills else "errors injected"
    torn = settings.torn or (in_the_middle if SUBJECTS[settings.system].is_slow_to_start else cuts)
    for turn in range(len(settings.specs)):
        fleet = Fleet(settings.specs[turn:] + settings.specs[:turn], system=settings.system)
        try:
            points = CrashPoints(
                fleet,
                settings.out,
                judge=lambda history: judge.of_history(history).problems,
                kills=kills,
                torn=torn,
                errors=errors,
                sticky=settings.sticky,
                reads=reads,
                operations=settings.operations,
                only=settings.at,
                seed=settings.seed,
            )
            for result in points.run():
                act.counts[what] += len(result.points)
                if result.doubt:
                    act.undecided.append(f"{result.operation.name}: {result.doubt}")
                say(
                    f"{act.name.partition('.')[2].replace('_', ' ')}: {result.operation.name}: {len(result.changes)} "
                    f"changes, {len(result.points)} points, {len(result.bad)} bad"
                )
                for point in result.bad:
                    told = [replace(problem, point=point.title) for problem in point.problems]
                    assert point.kept is not None
                    act.add(told, point.kept / "history.jsonl")
        finally:
            fleet.close()
