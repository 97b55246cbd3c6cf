"""What the machines of all systems share: agents with a process each, a clock, a script, and how a run is judged."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, initialize, run_state_machine_as_test

from busproof.adapters.base import Lost, Malformed, Refused
from busproof.fleet import Fleet
from busproof.history import Recorder
from busproof.session import Session
from busproof.suite import T0_MS, Finding

# Our own profiles: Hypothesis's `ci` derandomizes and drops the database.
PROFILES = {
    "pr": settings(max_examples=60, stateful_step_count=25),
    "nightly": settings(max_examples=10_000, stateful_step_count=30),
}

PROGRESS_S = 10.0

AGENTS = ("ada", "bob", "cy")

agents = st.sampled_from(AGENTS)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\u00fc\u20ac ", max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


class Violation(AssertionError):
    """The bus did what the model does not allow."""

    def __init__(self, requirement: str, why: str, script: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(f"{requirement}: {why}")
        self.requirement, self.why, self.script = requirement, why, list(script)


@dataclass
class MachineRun:
    """What a machine found. `script` is the shrunk program, empty if nothing failed."""

    findings: list[Finding]
    examples: int
    script: list[dict[str, Any]] = field(default_factory=list)


class BusMachine(RuleBasedStateMachine):
    """Three agents, each a process, on one bus. Rules are the systems' own."""

    fleet: Fleet
    examples = 0
    examples_max = 0
    told_at = 0.0  # when progress was
    script: list[dict[str, Any]]
    seen: Violation | None = None  # the latest, of any example
    options: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        cls = type(self)
        cls.examples += 1
        cls._tell_progress()
        cls.script = []
        self.folder = Path(tempfile.mkdtemp(prefix="busproof-"))
        self.store = self.folder / "store"
        self.store.mkdir()
        self.recorder = Recorder(self.folder / "history.jsonl", run="machine", system=self.fleet.system)
        self.sessions: dict[str, Session] = {}
        self.now_ms = T0_MS
        hello = self.fleet.hello
        self.has = {*hello.nouns, *hello.features, *(["clock"] if hello.clock == "manual" else [])}

    @classmethod
    def _tell_progress(cls) -> None:
        """To the terminal itself: pytest keeps what a test prints for a failure's report."""
        if (now := time.monotonic()) - cls.told_at >= PROGRESS_S:
            told = f"{cls.examples:,} of {cls.examples_max:,} examples" if cls.seen is None else "shrinking"
            print(f"  machine.{cls.fleet.system}: {told}", file=sys.__stderr__, flush=True)
            cls.told_at = now

    @initialize()
    def open_sessions(self) -> None:
        """Every agent opens the store."""
        for number, agent in enumerate(AGENTS):
            self._open(number, agent)
        self.prepare()

    def prepare(self) -> None:
        """What a system wants done before the first rule."""

    def _open(self, number: int, agent: str) -> None:
        door = self.fleet.door(number % len(AGENTS), self.store, self.options)
        self.sessions[agent] = Session(door, self.recorder, process=number, agent=agent)
        if "clock" in self.has:
            self.sessions[agent].set_clock(self.now_ms)

    def call(self, agent: str, method: str, **params: Any) -> dict[str, Any]:
        """Call as an agent and remember it for the script."""
        type(self).script.append({"agent": agent, "method": method, "params": params})
        return self.sessions[agent].call(method, **params)

    def refused(self, agent: str, method: str, **params: Any) -> Refused | None:
        """The refusal of a call, or None."""
        try:
            self.call(agent, method, **params)
        except Refused as error:
            return error
        return None

    @classmethod
    def must(cls, requirement: str, good: bool, why: str) -> None:
        """Stop the example where the model is broken."""
        if not good:
            cls.seen = Violation(requirement, why, cls.script)
            raise cls.seen

    def advance(self, ms: int) -> None:
        """Time passes on every session at once."""
        self.now_ms += ms
        for agent, session in self.sessions.items():
            type(self).script.append({"agent": agent, "method": "clock.set", "params": {"now_ms": self.now_ms}})
            session.set_clock(self.now_ms)

    def reopen(self, agent: str, is_crash: bool) -> None:
        """A new process takes the agent's place."""
        session = self.sessions[agent]
        self.fleet.give_back(session.door, retired=is_crash)
        type(self).script.append({"agent": agent, "method": "restart", "params": {"kill": is_crash}})
        self._open(AGENTS.index(agent), agent)

    def teardown(self) -> None:
        """Give the doors back."""
        for session in self.sessions.values():
            self.fleet.give_back(session.door, retired=session.retired)
        self.recorder.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _of_call(row: str, error: Exception) -> Violation:
    """A call that must succeed did not. Raises what is no answer of a bus, but a fault of the kit."""
    if not isinstance(error, Refused | Lost | Malformed):
        raise error
    return Violation(row, f"a call that must succeed ended in {type(error).__name__}: {error}")


def play(
    machine: type[BusMachine], rows: tuple[str, ...], fleet: Fleet, profile: str, with_seed: int | None
) -> MachineRun:
    """Play a machine under a profile; a failure is shrunk, and its script returned. The first row takes the blame for
    calls that end in an error where they must succeed."""

    class Machine(machine):  # type: ignore[valid-type, misc]
        """A class of its own for each run: it counts."""

    Machine.fleet, Machine.script = fleet, []
    Machine.examples_max, Machine.told_at = PROFILES[profile].max_examples, time.monotonic()
    test: type[RuleBasedStateMachine] = Machine
    chosen = settings(
        PROFILES[profile],
        deadline=None,
        database=None,
        print_blob=False,
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate, Phase.target, Phase.shrink],
    )
    if with_seed is not None:
        test = seed(with_seed)(Machine)
    broken: Violation | None = None
    try:
        run_state_machine_as_test(test, settings=chosen)
    except Violation as error:
        broken = error
    except (Refused, Lost, Malformed) as error:
        broken = _of_call(rows[0], error)
    except Flaky as error:
        # The bus rolls dice of its own (a retry's jitter, a race), so the same program did not fail in the same way
        # again. What was seen was seen.
        raised = getattr(error, "exceptions", (error,))[0]
        broken = Machine.seen or _of_call(rows[0], raised)
        broken.why += " (once; the same program did not always do it)"
    if broken is None:
        return MachineRun([Finding(row, True, "", 0) for row in rows], Machine.examples)
    return MachineRun(
        [Finding(broken.requirement, False, broken.why, 0)], Machine.examples, broken.script or Machine.script
    )
