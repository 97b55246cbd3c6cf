"""An item that is a workload: the checks of its recorded history decide its rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from busproof.bus.base import DoorError
from busproof.bus.fleet import Fleet
from busproof.contract.catalogue import Requirement, catalogue
from busproof.contract.history import Event, scan
from busproof.oracle.checks import Verdict, Witness
from busproof.oracle.checks.facts import NO_DUMP
from busproof.oracle.checks.mail import UNREAD
from busproof.run.result import RowResult, decided, if_broken, what_ended_it
from busproof.run.shown import call_of, short
from busproof.systems import play, run_checks

WORKLOAD_CALLS = {"pr": 1_200, "nightly": 20_000}
KEYS = ("task_id", "message_id")  # of that which one agent holds
CALLS_BEFORE = 2
CHOSEN = {"token_not_rising"}  # kinds of witnesses of RESOLVED choices: a row of a scenario tells them


def run_history(fleet: Fleet, rows: list[Requirement], profile: str, seed: int | None) -> list[RowResult]:
    with tempfile.TemporaryDirectory(prefix="busproof-") as folder:
        try:
            path = play(
                fleet,
                seed=seed if seed is not None else 1,
                calls=WORKLOAD_CALLS[profile],
                into=Path(folder) / "history.jsonl",
            )
        except DoorError as error:
            outcome, why = what_ended_it(error)
            return [decided(row, outcome, why) for row in rows]
        lines = list(scan(path))
    verdicts = {f"history.{verdict.check}": verdict for verdict in run_checks(lines)}
    events = [line for line in lines if isinstance(line, Event)]
    results = [result for row in rows for result in _from_verdict(row, verdicts[row.check or ""], events)]
    if refused := _refused_dump(events):
        results = [result.model_copy(update={"why": result.why.replace(NO_DUMP, refused)}) for result in results]
    results = [result.model_copy(update={"why": result.why + _refused_end(result.why, events)}) for result in results]
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


def _refused_end(why: str, events: list[Event]) -> str:
    """The bus's last refusal of an agent that never received to the end, where that is why."""
    reader, unread, _ = why.partition(f" {UNREAD}")
    calls = [event for event in events if event.op in ("receive", "ack") and event.type != "invoke"]
    last = next((event for event in reversed(calls) if event.agent == reader), None) if unread else None
    if last is None or last.type == "ok":
        return ""
    return f": its last {last.op} was answered {last.code}, {last.value!s:.300}"


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
        yield decided(row, "pass")
    elif verdict.verdict == "unknown":
        yield decided(row, "inconclusive", verdict.reason)
    else:
        witnesses = [w for w in verdict.witnesses if w.kind not in CHOSEN and not _is_lost(w, verdict.witnesses)]
        own = [w for w in witnesses if w.kind not in row.elsewhere]
        why = f"apart from what no sentence of this row sets: {verdict.witnesses[0].why}"
        yield _shown_by(row, own, events) if own else decided(row, "pass", why)
        for kind, other in row.elsewhere.items():
            if others := [w for w in witnesses if w.kind == kind]:
                shown = _shown_by(catalogue(row.id.partition(".")[0])[other], others, events)
                yield shown.model_copy(update={"check": row.check})  # a replay plays this one


def _is_lost(witness: Witness, witnesses: list[Witness]) -> bool:
    """Did the message get another number because its first went to another message? Then that is the fault."""
    return witness.kind == "id_moved" and any(w.kind == "seq_doubled" and w.a == witness.a for w in witnesses)


def _shown_by(row: Requirement, witnesses: list[Witness], events: list[Event]) -> RowResult:
    first = witnesses[0]
    calls = {call_of(event, events) for event in events if event.index in first.events}
    wanted = {*first.events, *calls, *(_before(min(calls), events) if len(calls) == 1 else ())}
    shown = [short(event) for event in events if event.index in wanted]
    more = f" ({len(witnesses)} witnesses, the first is shown)" if len(witnesses) > 1 else ""
    return decided(row, if_broken(row), first.why + more, events=shown)


def _before(index: int, events: list[Event]) -> set[int]:
    """The last calls on the same task or message that were over before this one, and their answers: alone it shows
    nothing, if its fault is to be granted or refused after them."""
    asked = {event.index: event.value for event in events if event.type == "invoke" and isinstance(event.value, dict)}
    key = {name: asked.get(index, {}).get(name) for name in KEYS if asked.get(index, {}).get(name) is not None}
    indices: set[int] = set()
    for answer in reversed(events) if key else ():
        if answer.index < index and answer.type in ("ok", "fail") and len(indices) < CALLS_BEFORE * 2:
            call = call_of(answer, events)
            if any(asked.get(call, {}).get(name) == value for name, value in key.items()):
                indices |= {call, answer.index}
    return indices
