"""A run of chaos: the acts that are asked for, in turn or side by side. Each decides the rows whose check it is.

An act that was not asked for decides nothing. One that could not run, or was cut short (`limits`), is never green. One
that no row of a system names (`acts.acts_of`) cannot be asked for.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from buschaos import judge, reading, workload
from buschaos.acts import ACTS, BY_NAME, acts_of
from buschaos.acts.base import Act, Findings, Scene, Shared
from buschaos.acts.disk_full import SHORT as SHORT
from buschaos.acts.random_kills import RandomKills
from buschaos.bus import RunFailed, must_be_a_process
from buschaos.finished import Finished
from buschaos.lanes import Lanes
from buschaos.limits import INTERRUPTED, NOT_BEGUN, Enough, Progress, Time
from buschaos.nemeses import server
from buschaos.operations import Operation
from buschaos.points import At
from busproof.bus.base import DoorError
from busproof.bus.fleet import BusSpecError, Fleet
from busproof.contract import HelloReply
from busproof.words import kit_failed, reason

NOTHING_ASKED = "the bus declares nothing that this act judges"


class Settings:
    """The acts to play, and how much of each: what they share, and what each has for itself, by its name.

    `words` name acts by their flags, and their settings by the names of these: kills=200, points=True, twice=0.
    """

    def __init__(
        self,
        specs: Sequence[str],
        out: Path,
        system: str,
        seed: int = 0,
        *,
        operations: tuple[Operation, ...] | None = None,
        at: At | None = None,
        time: Time | None = None,
        lanes: int = 1,
        stop_after: int | None = None,
        **words: Any,
    ) -> None:
        if unknown := words.keys() - known_words():
            raise TypeError(f"no act has a setting {', '.join(sorted(unknown))}")
        self.stop_after = stop_after
        self.resumes = bool(words.get("resumes"))
        self.own = {act.name: own for act in ACTS if (own := act.settings(words)) is not None}
        # A bus is handed its store by an absolute path (DESIGN, Protocol): it may run in another folder.
        is_alone = len(self.own) == 1
        self.shared = Shared(list(specs), out.resolve(), system, seed, operations, at, time or Time(), lanes, is_alone)

    @property
    def in_order(self) -> list[Act[Any]]:
        """The acts that are asked for. If the run may end early, those that take much come last."""
        asked = [act for act in ACTS if act.name in self.own]
        return sorted(asked, key=lambda act: act.length) if self.may_end_early else asked

    @property
    def may_end_early(self) -> bool:
        """By its time, or at the last problem that was asked for?"""
        return self.shared.time.is_limited or self.stop_after is not None


def known_words() -> set[str]:
    """The flags and settings of all acts."""
    return {word for act in ACTS for word in (act.flag, *act.words)}


@dataclass
class Run:
    """The findings of all acts of a run."""

    hello: HelloReply
    acts: list[Findings]
    history: Path | None = None
    is_interrupted: bool = False


def run(settings: Settings, progress: Progress | None = None) -> Run:
    """Play the acts that are asked for. Ctrl-C and enough problems end it: the result is all that is known by then."""
    shared, progress = settings.shared, progress or Progress()
    workload.must_not_be_importing_main()
    for spec in shared.specs:
        must_be_a_process(spec)
    if unknown := [name for name in settings.own if BY_NAME[name] not in acts_of(shared.system, shared.specs)]:
        where = " on a server" if server.is_on_a_server(shared.specs) else ""
        raise RunFailed(f"{', '.join(sorted(unknown))} is not known for {shared.system}{where}")
    finished = Finished(shared, settings.own).begin(resumes=settings.resumes)
    acts = [act for act in settings.in_order if act.name not in finished]
    _clear(settings, finished.keys())
    with contextlib.closing(Fleet(shared.specs, system=shared.system)) as fleet:
        if (lanes := min(shared.lanes, len(settings.own))) > 1:
            played, why = _side_by_side(settings, acts, lanes, progress)
        else:
            played, why = _in_turn(settings, acts, fleet, progress)
        hello = fleet.hello
    played |= finished
    if played and all(findings.broke_off and not findings.problems for findings in played.values()):
        # Nothing is known that a report could tell.
        raise RunFailed("; ".join(dict.fromkeys(findings.broke_off for findings in played.values())))
    for act in settings.in_order:
        not_begun = Findings(act.name, nouns=act.nouns(shared), ended_by=f"{NOT_BEGUN}{why}")
        played.setdefault(act.name, not_begun)
    history = shared.out / "history.jsonl"
    in_order = [played[act.name] for act in settings.in_order]
    return Run(hello, in_order, history if history.exists() else None, why == INTERRUPTED)


def _clear(settings: Settings, finished: Collection[str]) -> None:
    """Nothing that an earlier run left is taken for evidence of this one, except for what this one goes on with."""
    out = settings.shared.out
    out.mkdir(parents=True, exist_ok=True)
    for act in ACTS:
        for stale in () if act.name in finished else act.stale(settings.own.get(act.name)):
            shutil.rmtree(out / stale, ignore_errors=True)
    if RandomKills.name not in finished:
        (out / "history.jsonl").unlink(missing_ok=True)


def _in_turn(
    settings: Settings, acts: list[Act[Any]], fleet: Fleet, progress: Progress
) -> tuple[dict[str, Findings], str]:
    """The findings of the acts that were begun, one after the other, and the reason why the others were not."""
    played: dict[str, Findings] = {}
    for number, act in enumerate(acts):
        time = settings.shared.time.part(len(acts) - number)
        played[act.name] = findings = _played(settings, act.name, progress, time, fleet)
        if findings.ended_by:
            return played, findings.ended_by
    return played, ""


def _side_by_side(
    settings: Settings, acts: list[Act[Any]], lanes: int, progress: Progress
) -> tuple[dict[str, Findings], str]:
    """The same, so many at a time. Those that take long begin, or one of them would be alone in the end."""
    if not settings.may_end_early:
        acts = sorted(acts, key=lambda act: -act.length)
    at_once = Lanes[Findings](lanes, progress, settings.shared.time)
    played = at_once.play([partial(_played, settings, act.name) for act in acts])
    for findings in played.values():
        findings.ended_by = findings.ended_by and at_once.why  # each was interrupted, for this reason
    return {findings.name: findings for findings in played.values()}, at_once.why


def _played(settings: Settings, name: str, progress: Progress, time: Time, fleet: Fleet | None = None) -> Findings:
    """The findings of one act. They can be sent to another process when it is over."""
    act, shared, own, began = BY_NAME[name], settings.shared, settings.own[name], monotonic()
    findings = Findings(name, progress=progress, nouns=act.nouns(shared))
    try:
        with contextlib.ExitStack() as stack:
            fleet = fleet or stack.enter_context(contextlib.closing(Fleet(shared.specs, system=shared.system)))
            if act.compares and not reading.can_dump(fleet.hello):
                findings.notes.append(reading.SHOWN_ONLY)
            scene = Scene(shared, fleet, time, findings)
            # A bus that keeps all in its memory is asked nothing of kills, for one.
            is_asked = judge.is_asked(name, fleet.hello, shared.system)
            findings.could_not_run = act.why_not(scene, own) if is_asked else NOTHING_ASKED
            if findings.could_not_run is None:
                act.play(scene, own)
            if findings.impossible and not any(findings.counts.values()):
                findings.could_not_run = findings.broke_off = findings.impossible
    except KeyboardInterrupt:
        findings.ended_by = INTERRUPTED
    except Enough as enough:
        findings.ended_by = str(enough)
    except (RunFailed, DoorError, BusSpecError) as error:  # the others may be played nevertheless
        findings.could_not_run = findings.broke_off = f"it broke off: {reason(error)}"
    except Exception as error:
        findings.could_not_run = findings.broke_off = kit_failed(error)
    findings.seconds, findings.progress = monotonic() - began, Progress()
    Finished(shared, settings.own).add(findings)
    return findings
