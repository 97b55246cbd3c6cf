"""Plays the items of a run and turns their findings into one outcome for each requirement row.

An item is a scenario, the recorded workload with its history checks, the search, or the corpus. Six outcomes:

    pass            every expectation of the row held
    fail            a MUST did not hold, or the bus broke a call that must succeed
    warn            a SHOULD did not hold; or a RESOLVED one: another choice than the reference's, a dialect
    not-applicable  the bus, or the other one of a mixed fleet, does not declare the noun or the feature
    could-not-run   nothing was decided: a missing prerequisite, a fault of the kit
    inconclusive    it ran, and the history does not decide it
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
import shlex
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from busproof.bus.base import DoorError, Lost, Malformed, Refused
from busproof.bus.fleet import BudgetSpent, Fleet
from busproof.bus.warm import is_warm
from busproof.contract.catalogue import CORPUS, HISTORY, Requirement, catalogue, kind_of
from busproof.contract.history import Event, scan
from busproof.oracle.checks import Verdict, Witness
from busproof.oracle.checks.facts import NO_DUMP
from busproof.play.explore import corpus, retold
from busproof.play.explore.lanes import events_of
from busproof.play.explore.script import Step
from busproof.play.explore.search import Program, search
from busproof.play.explore.search import play as play_again
from busproof.play.explore.stage import Specification
from busproof.play.suite import Ctx, Finding, Scenario, rows_of, stage
from busproof.play.ties import ORDERED, tied
from busproof.systems import SYSTEMS, play, run_checks
from busproof.words import kit_failed

Outcome = Literal["pass", "fail", "warn", "not-applicable", "could-not-run", "inconclusive"]

WORST_FIRST: tuple[Outcome, ...] = ("fail", "could-not-run", "inconclusive", "warn", "pass", "not-applicable")
NIGHTLY_PROGRAMS = 1_500  # of the search; by day Specification.programs
EXPLORE_PARTS = ("states", "retold", "values")
RETOLD_PROGRAMS = {"pr": 10, "nightly": 1_500}
VALUE_PROGRAMS = {"pr": 40, "nightly": 5_000}
WORKLOAD_CALLS = {"pr": 1_200, "nightly": 20_000}
EVENTS_SHOWN = 12
KEYS = ("task_id", "message_id")  # of that which one agent holds
CALLS_BEFORE = 2
SHOWN_TYPES = ("invoke", "ok", "fail", "info", "nemesis")
CHOSEN = {"token_not_rising"}  # kinds of witnesses of RESOLVED choices: a row of a scenario tells them
A_CLOCK = "a clock that the kit can set (hello: clock manual; or --clock faketime, docs/valid.md)"
PLAYS_OF_LUCK, LUCK_S = 12, 6.0  # of a race that is not forced: two in three show a wide window, each time anew
NOT_REACHED = "no script of the corpus reached it"
BUDGET_SPENT = "the time of --budget was over before it was decided"


class RowResult(BaseModel):
    """One row, decided on one fleet. `events` are the offending operations, `script` the calls that show them."""

    requirement: str
    outcome: Outcome
    check: str
    fleet: str  # "bus", or "mixed"
    why: str = ""
    cause: str = ""  # what rows of one fault have in common, if that is less than `why`
    again: str = ""  # the command that shows it again, if its check alone does not tell
    step: str = ""  # the first step to take
    steps: int = 0  # of the script of the corpus that shows it
    held: int = 0  # in how many scripts of the corpus it held
    events: list[dict[str, Any]] = []
    script: list[dict[str, Any]] = []
    left_out: dict[str, int] = {}  # of the corpus: how many calls of each method this bus was not sent
    calls: int = 0  # and of how many in all
    not_played: int = 0  # scripts of the corpus, as enough had broken


def item_names(system: str) -> list[str]:
    """Every check that `busproof check` plays, in the order of the catalogue. Chaos rows are another run (0006)."""
    names = dict.fromkeys(row.item for row in catalogue(system).values() if row.item not in ("", CORPUS, HISTORY))
    return [*([CORPUS] if SYSTEMS[system].model else []), *names, HISTORY]


def run_item(
    fleet: Fleet, item: str, *, label: str = "bus", profile: str = "pr", seed: int | None = None
) -> list[RowResult]:
    """Play one item and decide its rows. A row that the user's budget of time did not reach is could-not-run.

    An item `corpus:NAME` is one script of the corpus, `corpus:NAME+NAME` two, `corpus:ROW` the shortest scripts that
    reach a row, `corpus:1of3` every third script from the first on, and `explore:PART` one of EXPLORE_PARTS.
    """
    try:
        results = _with_order(fleet, item, _run(fleet, item, profile, seed))
        return [result.model_copy(update={"fleet": label}) for result in results]
    except BudgetSpent:
        left = decided_by(fleet.system, item)
        results = [_not_judged(fleet, row, item) or _result(row, "could-not-run", BUDGET_SPENT) for row in left]
        return [result.model_copy(update={"fleet": label}) for result in results]


def _with_order(fleet: Fleet, item: str, results: list[RowResult]) -> list[RowResult]:
    """The row of the order breaks where the messages of one moment have none, whatever held as the clock moved on.

    The workload meets such moments on any clock: what breaks there rests on the order.
    """
    if not any(result.outcome == "fail" for result in results) and not fleet.tied:
        return results
    why = tied(fleet)
    if not why:
        return results
    row = catalogue(fleet.system)[ORDERED[fleet.system].row]
    if item == HISTORY:
        rests = {"outcome": "inconclusive", "why": f"rests on {row.id}: messages of one moment have no order here"}
        results = [r.model_copy(update=rests) if r.outcome == "fail" else r for r in results]
    return [*(result for result in results if result.requirement != row.id), _result(row, _broken(row), why)]


def decided_by(system: str, item: str) -> list[Requirement]:
    """The rows that stay open until an item is played to its end: the corpus may break all that the model names."""
    rows = {row.id: row for row in rows_of(system, item)}
    kind, _, wanted = item.partition(":")
    if kind == CORPUS and wanted in catalogue(system):
        return [catalogue(system)[wanted]]
    if kind == CORPUS:
        rows |= {row.id: row for row in catalogue(system).values() if row.item and row.id in cited(system)}
    return list(rows.values())


@functools.cache
def cited(system: str) -> set[str]:
    """The rows that branches of the model name."""
    return corpus.cited(SYSTEMS[system].model)


def _run(fleet: Fleet, item: str, profile: str, seed: int | None) -> list[RowResult]:
    if item.partition(":")[0] == CORPUS:
        return _run_corpus(fleet, item)
    rows = rows_of(fleet.system, item)
    results = [result for row in rows if (result := _not_judged(fleet, row, item)) is not None]
    open_rows = [row for row in rows if row.id not in {result.requirement for result in results}]
    if open_rows:
        match kind_of(item.partition(":")[0]):
            case "history":
                results += _run_history(fleet, open_rows, profile, seed)
            case "explore":
                results += _run_explore(fleet, open_rows, item, profile, seed)
            case _:
                results += _run_scenario(fleet, SYSTEMS[fleet.system].scenarios[item], open_rows)
    return results


def _not_judged(fleet: Fleet, row: Requirement, item: str) -> RowResult | None:
    """not-applicable or could-not-run, if the bus or the machine lacks something that the row needs."""
    hello = fleet.hello
    scenario = SYSTEMS[fleet.system].scenarios.get(item)
    needs = {*row.needs, *(scenario.needs if scenario else ()), row.noun}
    missing = sorted(needs - {"clock"} - {*hello.nouns, *hello.features, *hello.limits})
    if missing:
        return _result(row, "not-applicable", _undeclared(fleet, missing))
    if "clock" in needs and hello.clock == "wall":
        return _result(row, "could-not-run", f"needs {A_CLOCK}")
    return None


def _undeclared(fleet: Fleet, missing: list[str]) -> str:
    """The member of the fleet that lacks these; what the bus itself lacks is told of the bus."""
    own = fleet.hellos[0]
    of_the_bus = [name for name in missing if name not in (*own.nouns, *own.features, *own.limits)]
    who = "the bus" if of_the_bus else "the other bus of the mixed fleet"
    return f"{who} does not declare {', '.join(of_the_bus or missing)}"


def _result(row: Requirement, outcome: Outcome, why: str = "", fleet: str = "", **more: Any) -> RowResult:
    return RowResult(requirement=row.id, outcome=outcome, check=row.check or "", fleet=fleet, why=why, **more)


def _broken(row: Requirement) -> Outcome:
    return "fail" if row.level == "MUST" else "warn"


def _run_scenario(fleet: Fleet, scenario: Scenario, rows: list[Requirement]) -> list[RowResult]:
    """One play decides, unless a race in it could not be forced: then as many good ones as there is time for."""
    results, is_by_luck = _played(fleet, scenario, rows)
    if not _is_good(results) and not fleet.tied and tied(fleet):
        results, is_by_luck = _played(fleet, scenario, rows)
    until, plays = time.monotonic() + LUCK_S, 1
    with contextlib.suppress(BudgetSpent):  # the plays before have decided
        while is_by_luck and plays < PLAYS_OF_LUCK and time.monotonic() < until and _is_good(results):
            (results, is_by_luck), plays = _played(fleet, scenario, rows), plays + 1
    return results


def _is_good(results: list[RowResult]) -> bool:
    return all(result.outcome == "pass" for result in results)


def _played(fleet: Fleet, scenario: Scenario, rows: list[Requirement]) -> tuple[list[RowResult], bool]:
    ended: tuple[Outcome, str] | None = None
    try:
        with stage(fleet, run=scenario.name, options=scenario.options, alone=scenario.alone) as ctx:
            try:
                scenario.play(ctx)
            except Exception as error:
                ended = _what_ended_it(error)
            return _decide(rows, ctx, ended), ctx.is_by_luck
    except DoorError as error:
        outcome, why = _what_ended_it(error)
        return [_result(row, outcome, f"the bus could not be opened: {why}") for row in rows], False


def _what_ended_it(error: Exception) -> tuple[Outcome, str]:
    """The outcome of a script that broke, and why."""
    if isinstance(error, Refused) and error.rpc == -32601:
        return "fail", f"a method of a declared noun is not supported: {error.message}"
    if isinstance(error, Refused):
        return "fail", f"a call that must succeed was refused with {error}"
    if isinstance(error, Malformed):
        return "fail", str(error)
    if isinstance(error, Lost):
        return "fail", f"the bus did not answer: {error}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    if isinstance(error, (LookupError, TypeError, AttributeError)):
        what = f"{type(error).__name__}: {error}"
        return "could-not-run", f"the script needs an answer of another shape than came, at {where} ({what})"
    return "could-not-run", kit_failed(error)


def _decide(rows: list[Requirement], ctx: Ctx, ended: tuple[Outcome, str] | None) -> list[RowResult]:
    """A row passes only where its script ran to its end: there may have been more to expect of it.

    A script may see the sentence of another script's row broken: that row fails, and blocks those it leaves undecided.
    If a row broke before the script did, the rows that were not reached are blocked by it. If none had, the
    break is the fault of the rows that were not reached, or, if all were, of them all.
    """
    events = ctx.history()
    broken = {finding.requirement: finding for finding in reversed(ctx.findings) if not finding.ok}
    own = {row.id for row in rows}
    of_others = [_failed(row, ctx, events, broken[row.id]) for row in _judged_rows(ctx.fleet, broken.keys() - own)]
    reached = {finding.requirement for finding in ctx.findings}
    first = next((finding.requirement for finding in ctx.findings if not finding.ok), "")
    is_all_reached = all(row.id in reached for row in rows)
    results = []
    for row in rows:
        if row.id in broken:
            results.append(_failed(row, ctx, events, broken[row.id]))
        elif ended is None and row.id in reached:
            results.append(_result(row, "pass"))
        elif ended is None and first:
            results.append(_result(row, "inconclusive", f"blocked by {first}, which leaves nothing to look at"))
        elif ended is None:
            results.append(_result(row, "could-not-run", "the script ended without deciding this row"))
        elif first and row.id not in reached:
            results.append(
                _result(row, "inconclusive", f"blocked by {first}, after which the script broke: {ended[1]}")
            )
        elif ended[0] != "fail" and not first:
            results.append(_result(row, *ended))
        elif first or (row.id in reached and not is_all_reached):
            results.append(_result(row, "inconclusive", f"the script broke before its end: {ended[1]}"))
        else:
            results.append(_failed(row, ctx, events, Finding(row.id, False, ended[1], len(events))))
    return results + of_others


def _judged_rows(fleet: Fleet, names: Iterable[str]) -> list[Requirement]:
    """The rows of other items, which decide them as well: a script shows their breakage, and is blocked by it."""
    rows = [catalogue(fleet.system)[name] for name in sorted(names)]
    return [row for row in rows if _not_judged(fleet, row, row.item) is None]


def _failed(row: Requirement, ctx: Ctx, events: list[Event], finding: Finding) -> RowResult:
    script = _script(events, finding, ctx.opened_with)
    return _result(row, _broken(row), finding.why, events=_shown(events, finding), script=script)


def _shown(events: list[Event], finding: Finding) -> list[dict[str, Any]]:
    """The operations that show it: those that the script blames, or the ones just before the expectation. An answer
    comes with its call, which may have been sent long before: in a race all calls stand before the first answer."""
    if finding.shown:
        chosen = [event for event in events if event.index in finding.shown][:EVENTS_SHOWN]
    else:
        chosen = [e for e in events if e.index <= finding.at_event and e.op != "clock.set" and e.type in SHOWN_TYPES]
        chosen = chosen[-EVENTS_SHOWN:]
    wanted = {event.index for event in chosen} | {_call_of(event, events) for event in chosen}
    return [_short(event) for event in events if event.index in wanted]


def _short(event: Event) -> dict[str, Any]:
    members = event.told("run", "system", "mono_ns")
    if len(repr(members.get("value"))) > 1_000:
        members["value"] = repr(members["value"])[:1_000] + "…"
    return members


def _script(events: list[Event], finding: Finding, opened_with: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls that lead there, for `busproof replay`; if some calls each show it alone, only these."""
    steps: list[dict[str, Any]] = []
    opened: set[int] = set()
    for e in events:
        is_wanted = not finding.shown or e.index in finding.shown or e.op == "clock.set"
        is_step = e.type in ("invoke", "nemesis") and len(repr(e.value)) < 20_000
        if e.index > finding.at_event or not is_wanted or not is_step:
            continue
        step = {"process": e.process, "method": e.op, "params": e.value if e.type == "invoke" else {}}
        if e.type == "invoke" and (answer := _answer_to(e, events)) is not None:
            step["answered"] = answer  # a replay learns from it which ids to put others for
        if e.type == "invoke" and _has_company(e, events):
            step["at_once"] = True  # a replay, which sends one call after the other, says that it is no race
        if e.process not in opened and opened_with.get(e.process):
            step["options"] = opened_with[e.process]
        opened.add(e.process)
        steps.append(step)
    return steps


def _has_company(call: Event, events: list[Event]) -> bool:
    """Was it, or another process's call, sent before the answer to the other came?"""
    under_way = {e.process: e for e in events if e.type == "invoke" and e.index < call.index}  # the last of each
    end = _end_of(call, events)
    return any(e.process != call.process and _end_of(e, events) > call.index for e in under_way.values()) or any(
        e.type == "invoke" and e.process != call.process and call.index < e.index < end for e in events
    )


def _end_of(call: Event, events: list[Event]) -> float:
    """The index of its answer; none came: never."""
    own = (e.index for e in events if e.index > call.index and e.process == call.process and e.type != "invoke")
    return next(own, math.inf)


def _answer_to(call: Event, events: list[Event]) -> Any:
    """The answer, if it says anything."""
    later = (e for e in events if e.index > call.index and e.process == call.process and e.op == call.op)
    answer = next((e for e in later if e.type != "invoke"), None)
    return answer.value if answer is not None and answer.type == "ok" and len(repr(answer.value)) < 20_000 else None


def _run_corpus(fleet: Fleet, item: str) -> list[RowResult]:
    """Rows of the branches that the scripts reach: if an answer is not the model's they break, the others hold."""
    specification = SYSTEMS[fleet.system].model
    own = [row for row in decided_by(fleet.system, item) if row.item == CORPUS]
    if specification is None or (specification.needs_clock and fleet.hello.clock == "wall"):
        why = f"the corpus needs {A_CLOCK}"
        return [_not_judged(fleet, row, CORPUS) or _result(row, "could-not-run", why) for row in own]
    rows = catalogue(fleet.system)
    wanted = item.partition(":")[2]
    if wanted in rows:
        replay = _asked_of_the_corpus(fleet, specification, wanted)
    else:
        replay = corpus.replay(fleet, specification, _scripts_of(fleet.system, item))
    broken = corpus.broken_rows(fleet.system, replay, "" if is_warm(fleet.specs[0]) else fleet.specs[0])
    held = [rows[name] for name in sorted(replay.rows.keys() - broken.keys()) if name in rows and rows[name].item]
    results = [
        _result(
            rows[name],
            _broken(rows[name]),
            broken_row.why,
            cause=broken_row.cause,
            steps=broken_row.steps,
            held=broken_row.held,
            events=list(broken_row.events),
        )
        for name, broken_row in broken.items()
    ]
    if replay.is_cut:
        left = [row for row in decided_by(fleet.system, item) if row.id not in broken]
        results += [_not_judged(fleet, row, CORPUS) or _result(row, "could-not-run", BUDGET_SPENT) for row in left]
    else:
        results += [_result(row, "pass") for row in held]
        results += [_not_reached(fleet, row, replay) for row in own if row.id not in replay.rows.keys() | broken.keys()]
    counts = {"check": CORPUS, "left_out": dict(replay.left_out), "calls": replay.calls + replay.left_out.total()}
    return [result.model_copy(update={**counts, "not_played": replay.not_played}) for result in results]


def _asked_of_the_corpus(fleet: Fleet, specification: Specification, row: str) -> corpus.Replay:
    """One row: the shortest scripts that reach it on the reference; all others, if on this bus they do not."""
    reaching = corpus.index(fleet.system).get(row, [])
    replay = corpus.replay(fleet, specification, corpus.scripts(fleet.system, only=reaching))
    blamed = {broken for program in replay.broken.values() if program.mismatch for broken in program.mismatch.rows}
    if row in {*replay.rows, *blamed, *(name.partition(":")[0] for name in replay.dialects)} or replay.is_cut:
        return replay
    return corpus.replay(fleet, specification, corpus.scripts(fleet.system))


def _scripts_of(system: str, item: str) -> dict[str, list[Step]]:
    wanted = item.partition(":")[2]
    if part := re.fullmatch(r"(\d+)of(\d+)", wanted):
        return corpus.scripts(system, only=corpus.names(system)[int(part[1]) - 1 :: int(part[2])])
    return corpus.scripts(system, only=wanted.split("+") if wanted else None)


def _not_reached(fleet: Fleet, row: Requirement, replay: corpus.Replay) -> RowResult:
    """A row that only the corpus decides, if no script came as far."""
    undeclared = _not_judged(fleet, row, CORPUS)
    if undeclared is not None:
        return undeclared
    if replay.broken:
        return _result(row, "inconclusive", f"{NOT_REACHED}: these broke before: {', '.join(replay.broken)}")
    return _result(row, "could-not-run", NOT_REACHED)


def _run_history(fleet: Fleet, rows: list[Requirement], profile: str, seed: int | None) -> list[RowResult]:
    with tempfile.TemporaryDirectory(prefix="busproof-") as folder:
        try:
            path = play(
                fleet,
                seed=seed if seed is not None else 1,
                calls=WORKLOAD_CALLS[profile],
                into=Path(folder) / "history.jsonl",
            )
        except DoorError as error:
            outcome, why = _what_ended_it(error)
            return [_result(row, outcome, why) for row in rows]
        lines = list(scan(path))
    verdicts = {f"history.{verdict.check}": verdict for verdict in run_checks(lines)}
    events = [line for line in lines if isinstance(line, Event)]
    results = [result for row in rows for result in _from_verdict(row, verdicts[row.check or ""], events)]
    if refused := _refused_dump(events):
        results = [result.model_copy(update={"why": result.why.replace(NO_DUMP, refused)}) for result in results]
    if broke := _broke(events):
        shaky = {"outcome": "inconclusive", "why": broke}
        return [r.model_copy(update=shaky) if r.outcome in ("pass", "inconclusive") else r for r in results]
    return results


def _refused_dump(events: list[Event]) -> str:
    """The bus's answer to the last dump, if it did not give one."""
    last = next((event for event in reversed(events) if event.op == "dump" and event.type != "invoke"), None)
    if last is None or last.type == "ok":
        return ""
    return f"{NO_DUMP}: dump was answered {last.code}, {last.value!s:.300}"


def _broke(events: list[Event]) -> str:
    """How often, and where first, the bus says that it broke. Nobody struck it: such a history shows nothing sound."""
    answers = [event for event in events if event.type in ("ok", "fail", "info")]
    broken = [event for event in answers if event.code == "INTERNAL"]
    if not broken:
        return ""
    first, many = broken[0], f"{len(broken)} of {len(answers)} answers"
    return f"{many} were INTERNAL, though nothing struck; the first to {first.op}: {first.value!s:.200}"


def _from_verdict(row: Requirement, verdict: Verdict, events: list[Event]) -> Iterator[RowResult]:
    """The results of this row, and of those whose sentences its check sees broken as well."""
    if verdict.verdict == "valid":
        yield _result(row, "pass")
    elif verdict.verdict == "unknown":
        yield _result(row, "inconclusive", verdict.reason)
    else:
        witnesses = [w for w in verdict.witnesses if w.kind not in CHOSEN and not _is_lost(w, verdict.witnesses)]
        own = [w for w in witnesses if w.kind not in row.elsewhere]
        why = f"apart from what no sentence of this row sets: {verdict.witnesses[0].why}"
        yield _shown_by(row, own, events) if own else _result(row, "pass", why)
        for kind, other in row.elsewhere.items():
            if others := [w for w in witnesses if w.kind == kind]:
                shown = _shown_by(catalogue(row.id.partition(".")[0])[other], others, events)
                yield shown.model_copy(update={"check": row.check})  # a replay plays this one


def _is_lost(witness: Witness, witnesses: list[Witness]) -> bool:
    """Did the message get another number because its first went to another message? Then that is the fault."""
    return witness.kind == "id_moved" and any(w.kind == "seq_doubled" and w.a == witness.a for w in witnesses)


def _shown_by(row: Requirement, witnesses: list[Witness], events: list[Event]) -> RowResult:
    first = witnesses[0]
    calls = {_call_of(event, events) for event in events if event.index in first.events}
    wanted = {*first.events, *calls, *(_before(min(calls), events) if len(calls) == 1 else ())}
    shown = [_short(event) for event in events if event.index in wanted]
    more = f" ({len(witnesses)} witnesses, the first is shown)" if len(witnesses) > 1 else ""
    return _result(row, _broken(row), first.why + more, events=shown)


def _before(index: int, events: list[Event]) -> set[int]:
    """The last calls on the same task or message that were over before this one, and their answers: alone it shows
    nothing, if its fault is to be granted or refused after them."""
    asked = {event.index: event.value for event in events if event.type == "invoke" and isinstance(event.value, dict)}
    key = {name: asked.get(index, {}).get(name) for name in KEYS if asked.get(index, {}).get(name) is not None}
    indices: set[int] = set()
    for answer in reversed(events) if key else ():
        if answer.index < index and answer.type in ("ok", "fail") and len(indices) < CALLS_BEFORE * 2:
            call = _call_of(answer, events)
            if any(asked.get(call, {}).get(name) == value for name, value in key.items()):
                indices |= {call, answer.index}
    return indices


def _call_of(answer: Event, events: list[Event]) -> int:
    """The index of the call that this answers; an answer alone may not say what was asked."""
    if answer.type not in ("ok", "fail", "info"):
        return answer.index
    own = (e for e in events if e.index < answer.index and e.process == answer.process and e.op == answer.op)
    return max((e.index for e in own if e.type == "invoke"), default=answer.index)


def _run_explore(fleet: Fleet, rows: list[Requirement], item: str, profile: str, seed: int | None) -> list[RowResult]:
    """Search for programs that break a MUST. Each fails those of these rows that are of a broken row's noun; a row that
    is alone takes all. A difference only where the seed leaves a choice is no fault."""
    specification = SYSTEMS[fleet.system].model
    if specification is None or (specification.needs_clock and fleet.hello.clock == "wall"):
        return [_result(row, "could-not-run", f"the search needs {A_CLOCK}") for row in rows]
    known, whole, cut = catalogue(fleet.system), 0, 0
    failed: dict[str, RowResult] = {}
    for drawn, again in _programs(fleet, specification, item, profile, seed or 1):
        if drawn.mismatch is not None and not fleet.tied and tied(fleet):
            drawn = play_again(fleet, specification, drawn.steps)
        program = corpus.certain(fleet, specification, drawn)
        if program.mismatch is None:
            whole += 1
            continue
        cut += 1
        broken = [known[name] for name in program.mismatch.rows if name in known]
        if not broken or any(row.level == "MUST" for row in broken):
            names, nouns = ", ".join(row.id for row in broken), {row.noun for row in broken}
            why = f"broken: {names or 'what the model does'}\n{program.mismatch.told()}\n{_again(fleet, again)}"
            for row in rows:
                if row.noun in nouns or len(rows) == 1:
                    failed.setdefault(
                        row.id, _result(row, "fail", why, events=list(events_of(program, program.mismatch)))
                    )
        if len(failed) == len(rows):
            break
    counts = f"{whole} whole programs; {cut} ended at a difference"
    return [failed.get(row.id) or _result(row, "pass" if whole else "inconclusive", counts) for row in rows]


def _programs(
    fleet: Fleet, specification: Specification, item: str, profile: str, seed: int
) -> Iterator[tuple[Program, str]]:
    """Programs that look at the model's state, that retell the corpus, or that have any values; each with the options
    that play it again."""
    parts = [item.partition(":")[2]] if ":" in item else EXPLORE_PARTS
    if "states" in parts:
        count = NIGHTLY_PROGRAMS if profile == "nightly" else specification.programs
        for program in search(fleet, specification, seed=seed, programs=count, each=lambda _: True):
            yield program, f"--seed {program.seed} --calls 1"
    if "retold" in parts:
        drawn = search(
            fleet,
            specification,
            seed=seed,
            programs=RETOLD_PROGRAMS[profile],
            each=lambda _: True,
            draw=retold.teller(specification.system),
        )
        for program in drawn:
            yield program, f"--retold --seed {program.seed} --calls 1"
    if "values" in parts:
        from busproof.play.explore import values  # and with it Hypothesis, a quarter of all other imports

        for program in values.programs(fleet, specification, seed=seed, examples=VALUE_PROGRAMS[profile]):
            yield program, f"--values {VALUE_PROGRAMS[profile]} --seed {seed}"


def _again(fleet: Fleet, options: str) -> str:
    bus = "" if is_warm(fleet.specs[0]) else f" --bus {shlex.quote(fleet.specs[0])}"
    return f"play it again, and find the shortest: busproof explore {fleet.system}{bus} {options}"
