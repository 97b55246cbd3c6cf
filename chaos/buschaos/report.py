"""From the acts of a run to the rows of the catalogue, and to the same report as `busproof check` writes."""

from __future__ import annotations

import errno
import shlex
import time
from collections.abc import Set
from pathlib import Path
from typing import Any

from buschaos.run import ERRORS, SHORT, WITH_OTHERS, Act, Run, Settings
from buschaos.state import Problem
from buschaos.subjects import SUBJECTS
from busproof import __version__
from busproof.bus.fleet import reference
from busproof.contract import HelloReply
from busproof.contract.catalogue import Requirement, catalogue
from busproof.contract.history import read
from busproof.pages.report import html, junit, lines
from busproof.run.runner import RowResult

EVENTS_SHOWN = 12


def rows(run: Run, system: str) -> list[RowResult]:
    """A result for every row whose check is one of the acts."""
    acts: dict[str | None, Act] = {act.name: act for act in run.acts}
    nouns = nouns_by_act(system)
    judged = [(row, acts[row.check]) for row in catalogue(system).values() if row.check in acts]
    return [_decide(row, act, run.hello, nouns[act.name]) for row, act in judged]


def nouns_by_act(system: str) -> dict[str, set[str]]:
    """Map each act to the nouns of its rows."""
    nouns: dict[str, set[str]] = {act: set() for act in SUBJECTS[system].acts}
    for row in catalogue(system).values():
        if row.check in nouns:
            nouns[row.check].add(row.noun)
    return nouns


def is_against(problem: Problem, row: Requirement, nouns: Set[str]) -> bool:
    """Problems of a row's noun fail it; a row of `log` answers for everything that its act shows.

    A narrow one answers for problems of no other row's noun (`nouns` are those of the act). So does every other row of
    an act that has none of `log`: no problem is told and then forgotten. Dialects concern RESOLVED rows alone, and
    these concern nothing else.
    """
    is_all = row.noun == "log" and not (row.narrow and problem.noun in nouns)
    is_nobodys = not (nouns & {"log", problem.noun} or row.narrow)
    is_its_noun = is_all or row.noun == problem.noun or is_nobodys
    return is_its_noun and problem.is_dialect == (row.level == "RESOLVED")


def _decide(row: Requirement, act: Act, hello: HelloReply, nouns: Set[str]) -> RowResult:
    def result(outcome: Any, why: str, events: list[dict[str, Any]] | None = None) -> RowResult:
        return RowResult(requirement=row.id, outcome=outcome, check=act.name, fleet="bus", why=why, events=events or [])

    clock = ["clock"] if hello.clock == "manual" else []
    if not {row.noun, *row.needs} <= {*hello.nouns, *hello.features, *clock}:
        return result("not-applicable", "the bus does not declare it")
    against = [(problem, history) for problem, history in act.problems if is_against(problem, row, nouns)]
    if against:
        problem, history = min(against, key=lambda one: one[0].is_by_luck)  # one that shows again
        more = f" (and {len(against) - 1} more)" if len(against) > 1 else ""
        outcome = "fail" if row.level == "MUST" else "warn"
        point = f"{problem.point}: " if problem.point else ""
        return result(outcome, f"{point}{problem.why}; evidence: {history}{more}", _shown(problem, history))
    if act.could_not_run is not None:
        return result("could-not-run", act.could_not_run)
    if act.cut_short:
        return result("inconclusive", act.cut_short)
    if act.undecided:
        return result("inconclusive", "; ".join(act.undecided))
    if act.nouns is not None and row.noun not in act.nouns | (set() if row.narrow else {"log"}):
        return result("inconclusive", f"no operation of {row.noun} was asked for")
    if row.narrow and act.name == "chaos.holds" and not act.counts[WITH_OTHERS]:
        return result("inconclusive", "nobody else worked on its files meanwhile")
    if not any(act.counts.values()):
        return result("inconclusive", "nothing was done: no operation that was asked for has a part in this act")
    return result("pass", ", ".join(f"{count} {what}" for what, count in act.counts.items()))


def _shown(problem: Problem, history: Path) -> list[dict[str, Any]]:
    """The operations that show the problem: those that the check names, else the last ones."""
    if not history.exists() or problem.point.startswith("--script"):  # a script is no history
        return []
    events = [
        event for event in read(history) if event.type not in ("header", "state", "footer") and event.op != "clock.set"
    ]
    chosen = [event for event in events if event.index in problem.events] or events[-EVENTS_SHOWN:]
    told = [event.told("run", "system", "mono_ns") for event in chosen]
    for event in told:
        if len(text := repr(event.get("value"))) > 1000:
            event["value"] = text[:1000] + "…"
    return told


def write(run: Run, settings: Settings) -> lines.Report:
    """report.jsonl, and from it JUnit and HTML."""
    header = {
        "busproof": __version__,
        "system": settings.system,
        "hello": run.hello.model_dump(),
        "seed": settings.seed,
        "bus": " + ".join(spec for spec in settings.specs if spec != reference(settings.system)),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "part": in_part(settings).strip(" ()"),
        "again": {act.name: again(settings, act.name) for act in run.acts},
    }
    report = lines.write(settings.out / "report.jsonl", header, rows(run, settings.system))
    junit.write(report, settings.out / "junit.xml")
    html.write(report, settings.out / "report.html")
    return report


def in_part(settings: Settings) -> str:
    """The parts of the whole that were not asked for: a verdict on a part is none on the whole."""
    acts = sorted(act.partition(".")[2].replace("_", " ") for act in SUBJECTS[settings.system].acts - settings.asked)
    told = [f"not played: {', '.join(acts)}"] if acts else []
    if settings.drawn and not settings.holds:
        told.append("of holds only drawn programs")
    if settings.operations is not None:
        told.append("only " + "; ".join(operation.name for operation in settings.operations))
    return f" (in part; {'; '.join(told)})" if told else ""


def again(settings: Settings, act: str) -> str:
    """The command that plays an act again: all that was asked of it, and no more of the system."""
    flag = {
        "chaos.random_kills": f"--kills {settings.kills}{_calls(settings)} --seed {settings.seed}",
        "chaos.kill_points": "--points",
        "chaos.power_loss": f"--power {settings.power or 0} --seed {settings.seed}{_level(settings)}",
        "chaos.holds": f"{_held(settings)} --seed {settings.seed}{_twice(settings)}{_against(settings)}",
        "chaos.disk_full": f"--disk-full{_folder(settings)}{_errors(settings)}",
        "chaos.damage": f"--damage {settings.damage or 0} --seed {settings.seed}",
        "chaos.waits": "--waits",
        "chaos.gone_callers": "--gone",
    }[act]
    only = "".join(f" --only {shlex.quote(operation.name)}" for operation in settings.operations or ())
    at = f" --at {settings.at}" if settings.at is not None else ""
    return f"{unhurried(settings)} {flag}{only}{at}"


def unhurried(settings: Settings) -> str:
    """The command without a limit of time."""
    buses = "".join(f" --bus {shlex.quote(spec)}" for spec in settings.specs if spec != reference(settings.system))
    return f"busproof chaos {settings.system}{buses}"


def _calls(settings: Settings) -> str:
    return "" if settings.calls is None else f" --calls {settings.calls}"


def _against(settings: Settings) -> str:
    return "" if settings.against is None else f" --against {shlex.quote(settings.against)}"


def _held(settings: Settings) -> str:
    return " ".join(["--holds"] * settings.holds + [f"--drawn {settings.drawn}"] * (settings.drawn > 0))


def _twice(settings: Settings) -> str:
    return "" if settings.twice is None else f" --twice {settings.twice}"


def _folder(settings: Settings) -> str:
    return "" if settings.disk_folder is None else f" --disk {shlex.quote(str(settings.disk_folder))}"


def _errors(settings: Settings) -> str:
    names = ",".join([*(errno.errorcode[number] for number in settings.errors), *([SHORT] if settings.shorts else [])])
    is_usual = settings.errors == ERRORS and settings.shorts
    return ("" if is_usual else f" --errors {names}") + (" --sticky" if any(settings.sticky) else "")


def _level(settings: Settings) -> str:
    level = f" --durability {settings.durability}" if settings.durability else ""
    return level + "".join(f" --option {shlex.quote(f'{k}={v}')}" for k, v in settings.options.items())
