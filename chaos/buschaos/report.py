"""From the acts of a run to the rows of the catalogue, and to the same report as `busproof check` writes."""

from __future__ import annotations

import shlex
import time
from collections.abc import Set
from pathlib import Path
from typing import Any

from buschaos import judge, mend
from buschaos.acts import BY_NAME, acts_of
from buschaos.acts.base import Findings, title
from buschaos.run import Run, Settings
from buschaos.state import Problem, by_field
from busproof import __version__
from busproof.bus.fleet import reference
from busproof.contract import HelloReply
from busproof.contract.catalogue import Requirement, catalogue
from busproof.contract.history import read
from busproof.pages.report import html, junit, lines
from busproof.run.result import RowResult

EVENTS_SHOWN = 12


def rows(run: Run, system: str) -> list[RowResult]:
    """A result for every row whose check is one of the acts."""
    acts: dict[str | None, Findings] = {findings.name: findings for findings in run.acts}
    nouns = nouns_by_act(system)
    judged = [(row, acts[row.check]) for row in catalogue(system).values() if row.check in acts]
    return [_decide(row, findings, run.hello, nouns[findings.name]) for row, findings in judged]


def nouns_by_act(system: str) -> dict[str, set[str]]:
    """Map each act to the nouns of its rows."""
    nouns: dict[str, set[str]] = {act.name: set() for act in acts_of(system)}
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


def _decide(row: Requirement, findings: Findings, hello: HelloReply, nouns: Set[str]) -> RowResult:
    def result(outcome: Any, why: str, events: list[dict[str, Any]] | None = None) -> RowResult:
        return RowResult(
            requirement=row.id, outcome=outcome, check=findings.name, fleet="bus", why=why, events=events or []
        )

    if not judge.is_declared(row, hello):
        return result("not-applicable", "the bus does not declare it")
    against = [(problem, history) for problem, history in findings.problems if is_against(problem, row, nouns)]
    if against:
        problem, history = min(against, key=lambda pair: pair[0].is_by_luck)  # one that shows again
        more = f" (and {len(against) - 1} more)" if len(against) > 1 else ""
        outcome = "fail" if row.level == "MUST" else "warn"
        point = f"{problem.point}: " if problem.point else ""
        why = "\n  ".join(by_field(problem.why))
        judged = result(outcome, f"{point}{why}; evidence: {history}{more}", _shown(problem, history))
        return judged.model_copy(update={"again": problem.again, "step": mend.usually(problem, findings.name)})
    if findings.could_not_run is not None:
        return result("could-not-run", findings.could_not_run)
    if findings.cut_short:
        return result("inconclusive", findings.cut_short)
    if findings.undecided:
        return result("inconclusive", "; ".join(findings.undecided))
    if findings.nouns is not None and row.noun not in findings.nouns | (set() if row.narrow else {"log"}):
        return result("inconclusive", f"no operation of {row.noun} was asked for")
    if row.narrow and (doubt := BY_NAME[findings.name].doubt_of_narrow(findings)):
        return result("inconclusive", doubt)
    if not any(findings.counts.values()):
        return result("inconclusive", "nothing was done: no operation that was asked for has a part in this act")
    return result("pass", ", ".join(f"{count} {what}" for what, count in findings.counts.items()))


def _shown(problem: Problem, history: Path) -> list[dict[str, Any]]:
    """The operations that show the problem: those that the check names, else the last ones."""
    if not history.exists() or problem.again.startswith("--script"):  # a script is no history
        return []
    events = [
        event for event in read(history) if event.type not in ("header", "state", "footer") and event.op != "clock.set"
    ]
    chosen = [event for event in events if event.index in problem.events] or events[-EVENTS_SHOWN:]
    shown = [event.told("run", "system", "mono_ns") for event in chosen]
    for event in shown:
        if len(text := repr(event.get("value"))) > 1000:
            event["value"] = text[:1000] + "…"
    return shown


def write(run: Run, settings: Settings) -> lines.Report:
    """report.jsonl, and from it JUnit and HTML."""
    shared = settings.shared
    header = {
        "busproof": __version__,
        "system": shared.system,
        "hello": run.hello.model_dump(),
        "seed": shared.seed,
        "bus": " + ".join(spec for spec in shared.specs if spec != reference(shared.system)),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "part": in_part(settings).strip(" ()"),
        "again": {findings.name: again(settings, findings.name) for findings in run.acts},
    }
    judged = rows(run, shared.system)
    for row in judged:
        row.again = row.again and replay(settings, row.again, row.check)
    report = lines.write(shared.out / "report.jsonl", header, judged)
    junit.write(report, shared.out / "junit.xml")
    html.write(report, shared.out / "report.html")
    return report


def in_part(settings: Settings) -> str:
    """The parts of the whole that were not asked for: a verdict on a part is none on the whole."""
    shared, own = settings.shared, settings.own
    left_out = sorted(title(act.name) for act in acts_of(shared.system) if act.name not in own)
    parts = ["a sample of each act"] if shared.time.is_sample else []
    parts += [f"not played: {', '.join(left_out)}"] if left_out else []
    parts += [part for name in own if (part := BY_NAME[name].in_part(own[name]))]
    if shared.operations is not None:
        parts.append("only " + "; ".join(dict.fromkeys(operation.name for operation in shared.operations)))
    return f" (in part; {'; '.join(parts)})" if parts else ""


def again(settings: Settings, act: str) -> str:
    """The command that plays an act again: all that was asked of it, and no more of the system."""
    flags = BY_NAME[act].again(settings.shared, settings.own[act])
    if settings.shared.time.is_sample:
        flags = f"--quick {flags}{'' if '--seed ' in flags else f' --seed {settings.shared.seed}'}"
    at = f" --at {settings.shared.at}" if settings.shared.at is not None else ""
    return f"{unhurried(settings)} {flags}{_only(settings)}{at}"


def replay(settings: Settings, flags: str, act: str) -> str:
    """The command that plays the place of a problem alone, or its act if the place has no flags of its own."""
    if not flags:
        return again(settings, act)
    return f"{unhurried(settings)} {flags}{'' if '--only ' in flags else _only(settings)}"


def _only(settings: Settings) -> str:
    names = dict.fromkeys(operation.name for operation in settings.shared.operations or ())
    return "".join(f" --only {shlex.quote(name)}" for name in names)


def unhurried(settings: Settings) -> str:
    """The command without a limit of time, and without a sample."""
    shared = settings.shared
    buses = "".join(f" --bus {shlex.quote(spec)}" for spec in shared.specs if spec != reference(shared.system))
    return f"busproof chaos {shared.system}{buses}"
