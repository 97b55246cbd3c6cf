"""The steps before a difference, for a reader: what this bus was asked, what it answered, and what it was not asked."""

from __future__ import annotations

from busproof.contract.common import T0_MS
from busproof.oracle.models.spec import Refusal
from busproof.play.explore.orders import Called
from busproof.play.explore.script import Step, as_data
from busproof.play.explore.search import Program
from busproof.play.explore.stage import Mismatch
from busproof.words import as_json, one_line, shortened

STEPS_SHOWN, CHARS_SHOWN = 8, 240  # the last steps; of what a call asks, and of its answer


def led_to(program: Program, mismatch: Mismatch) -> list[str]:
    """A heading, and the last steps before the difference, each in a line or, of calls made at once, in some."""
    before = _before(program, mismatch)
    shown = before[-STEPS_SHOWN:]
    lines = [f"  {line}" for step in shown for line in _told(step, program)]
    return [f"before it, the last {len(shown)} of {len(before)} steps:", *lines]


def _before(program: Program, mismatch: Mismatch) -> list[Step]:
    """The steps before a difference. If a look that followed a step shows it, that step is the last of them."""
    if not program.steps:
        return []
    named = f"{mismatch.step.name}."  # a look's name begins with that of its step
    places = [n for n, step in enumerate(program.steps) if step.name and named.startswith(f"{step.name}.")]
    place = max(places, key=lambda n: len(program.steps[n].name), default=len(program.steps) - 1)
    step = program.steps[place]
    calls = {(called.step, called.method) for called in mismatch.called}
    is_told = all((part.name, part.method or part.do) in calls for part in step.calls or [step])
    return program.steps[: place + (not is_told)]


def _told(step: Step, program: Program) -> list[str]:
    match step.do:
        case "call":
            return [_asked(step, program)]
        case "race" | "wait":
            return ["at once:", *(f"  {_asked(part, program)}" for part in step.calls)]
        case "many":
            return [f"{step.times:,} times:", *(f"  {_call(part, part.params)}" for part in step.calls or [step])]
        case "pass":
            return [f"{step.params['ms']:,} ms pass"]
        case "clock":
            is_set = _is_set(program)
            return [f"the clock is set to {step.params['now_ms']} ms" if is_set else "the clock goes on by itself"]
        case "store":
            return [f"the store's folder is called {one_line(as_json(step.params['folder']))}"]
        case "restart" if step.params.get("kill"):
            return [f"process {step.at} is killed, and opens the store again"]
        case "restart":
            return [f"process {step.at} closes the store, and opens it again"]
    options = step.params.get("options")
    return [f"process {step.at} opens the store" + (f" with {one_line(as_json(options))}" if options else "")]


def _is_set(program: Program) -> bool:
    """Has the bus the time that the script sets, and not the machine's?"""
    times_ms = {T0_MS, *(step.params["now_ms"] for step in program.steps if step.do == "clock")}
    return any(called.now_ms in times_ms for called in program.called)


def _asked(step: Step, program: Program) -> str:
    """A call with the values that were sent, and its answer; or that this bus was not asked."""
    called = next((c for c in program.called if (c.step, c.method) == (step.name, step.method)), None)
    if called is None:
        return f"not asked of this bus: {_call(step, step.params)}"
    return f"{_call(step, called.params)} → {_answer(called)}"


def _call(step: Step, params: object) -> str:
    who = "the kit" if step.at == "hand" else f"process {step.at}"
    return f"{who}: {step.method} {_brief(as_data(params))}"


def _answer(called: Called) -> str:
    return f"refused, {one_line(called.seen.code)}" if isinstance(called.seen, Refusal) else _brief(called.seen)


def _brief(value: object) -> str:
    text = one_line(as_json(shortened(value)))
    return text if len(text) <= CHARS_SHOWN else f"{text[:CHARS_SHOWN]}… ({len(text):,} characters)"
