"""Playing a plan: driver processes, each with a few agents, each agent with a session that dies and comes back.

Drivers are started by `multiprocess` before the work begins, forked from a server that has the imports and no threads;
each has a pipe of its own, since a shared queue or lock that a killed process held is lost for all. Each records its
own part of the history.
Rounds are played in step, so that the sessions' clocks, set once a round, never run backwards between agents, but for
those that the plan has wrong.
"""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import sys
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from buschaos.bus import RunFailed
from buschaos.limits import Time
from buschaos.nemeses.server import is_on_a_server
from buschaos.nemeses.syscalls import Change, Continue, Kill, Supervision, Torn, Verdict, watched_child
from buschaos.plan import ASLEEP_ROUNDS, AgentPlan, Call, Death, Plan
from buschaos.subjects import SUBJECTS
from buschaos.tape.image import is_derived
from busproof.bus.base import Door, DoorError, Lost, Refused
from busproof.bus.child import Household
from busproof.bus.doors import open_door
from busproof.bus.fleet import BusSpecError
from busproof.bus.session import Session
from busproof.contract import CONTRACTS
from busproof.contract.history import Recorder
from busproof.words import kit_failed, reason

DRIVERS = 2
ROUND_LIMIT_S = 600.0
JOIN_LIMIT_S = 10.0
RETRIES_MAX = 20
AWAY = "UNREACHABLE"
AWAKE_S_MAX = 60.0  # for the answer of a process that goes on
CHANGES_UNSEEN = 5  # assumed of a call, while none of its kind was counted


@dataclass(frozen=True)
class Job:
    """The job of one driver."""

    specs: tuple[str, ...]
    system: str
    store: Path
    part: Path
    run: str
    manual_clock: bool
    header: Any
    agents: tuple[tuple[int, AgentPlan], ...]  # with their numbers in the whole plan
    agents_in_all: int
    environment: dict[str, str]  # the current one: the server that drivers are forked from has the one of the first run


@dataclass
class Tally:
    """The events in numbers, and those that should not have happened in words."""

    calls: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    cut_calls: int = 0  # kills that left a call without an answer
    halfway: list[str] = field(default_factory=list)  # kills that came after a part of the call's changes
    retries: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    strange: list[str] = field(default_factory=list)
    rounds_left: int = 0  # for which there was no time

    def add(self, other: Tally) -> None:
        """Take in another driver's."""
        self.calls += other.calls
        self.kills += other.kills
        self.cut_calls += other.cut_calls
        self.halfway += other.halfway
        self.retries += other.retries
        self.refusals += other.refusals
        self.strange += other.strange


def play(
    plan: Plan,
    *,
    specs: list[str],
    system: str,
    store: Path,
    parts: Path,
    run: str,
    manual_clock: bool,
    header: Any = None,
    progress: Callable[[str], None] = lambda _: None,
    limit: Time | None = None,
    meanwhile: Callable[[int], None] = lambda _: None,
) -> tuple[Tally, list[Path]]:
    """Play the plan, or as many of its rounds as there is time for; return the tally and the parts of the history.

    `meanwhile` is called in each round, with its number, when all agents are at work.
    """
    limit = limit or Time()
    numbered = list(enumerate(plan.agents))
    jobs = [
        Job(
            tuple(specs),
            system,
            store,
            parts / f"part-{driver}.jsonl",
            run,
            manual_clock,
            header,
            tuple(numbered[driver::DRIVERS]),
            len(numbered),
            dict(os.environ),
        )
        for driver in range(DRIVERS)
    ]
    tally = Tally()
    with _drivers(jobs) as pipes:
        for round_ in range(plan.rounds):
            if limit.is_over:
                tally.rounds_left = plan.rounds - round_
                break
            for pipe in pipes:
                pipe.send((round_, plan.now_ms(round_)))
            meanwhile(round_)
            done = [_answer(pipe) for pipe in pipes]
            progress(f"round {round_ + 1} of {plan.rounds}: {sum(done)} sessions killed so far")
        for pipe in pipes:
            pipe.send(None)
        for pipe in pipes:
            tally.add(_answer(pipe))
    return tally, [job.part for job in jobs]


def must_not_be_importing_main() -> None:
    """Ends a driver whose script begins a run of its own when it is imported: each would begin another one."""
    import multiprocess

    if getattr(multiprocess.current_process(), "_inheriting", False):
        print(
            "busproof chaos: its drivers are processes that import your script again, and the script begins a run when "
            'it is imported: put that under `if __name__ == "__main__":`',
            file=sys.stderr,
            flush=True,  # a forked process ends without
        )
        raise SystemExit(1)


@contextlib.contextmanager
def _drivers(jobs: list[Job]) -> Iterator[list[Any]]:
    """Start them all, and let none outlive the block."""
    import multiprocess  # of the extra: `busproof chaos --help` does without

    context = multiprocess.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    started = []
    try:
        for job in jobs:
            ours, theirs = context.Pipe()
            process = context.Process(target=_drive, args=(job, theirs), daemon=True)
            process.start()
            theirs.close()
            started.append((process, ours))
        yield [pipe for _, pipe in started]
    finally:
        for process, pipe in started:
            pipe.close()
            process.join(JOIN_LIMIT_S)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()


def _answer(pipe: Any) -> Any:
    if not pipe.poll(ROUND_LIMIT_S):
        raise RunFailed(f"a driver did not answer in {ROUND_LIMIT_S:g} s")
    try:
        failed, answer = pipe.recv()
    except (EOFError, ConnectionError):
        raise RunFailed("a driver ended before its time") from None
    if failed:
        raise RunFailed(answer)
    return answer


def _drive(job: Job, pipe: Any) -> None:
    """A driver process: one thread an agent, a round at a time."""
    os.setsid()
    os.environ.clear()
    os.environ.update(job.environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the run, by closing the pipe
    with contextlib.closing(Recorder(job.part, run=job.run, system=job.system, header=job.header)) as recorder:
        players = [_Player(job, number, plan, recorder) for number, plan in job.agents]
        try:
            while (order := pipe.recv()) is not None:
                _together([lambda player=player: player.play(*order) for player in players])  # type: ignore[misc]
                pipe.send((False, sum(player.tally.kills.total() for player in players)))
            _together([player.finish for player in players])
            tally = Tally()
            for player in players:
                tally.add(player.tally)
            pipe.send((False, tally))
        except EOFError:
            pass  # the parent has given up
        except (RunFailed, DoorError, BusSpecError) as error:
            pipe.send((True, reason(error)))
        except BaseException as error:
            pipe.send((True, kit_failed(error)))
        finally:
            for player in players:
                player.leave()


def _together(works: list[Callable[[], None]]) -> None:
    failed: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


class _Player:
    """One agent: its session of the moment, its memory between sessions, and the calls that it still has to resolve."""

    def __init__(self, job: Job, number: int, plan: AgentPlan, recorder: Recorder) -> None:
        self.tally = Tally()
        self._job, self._number, self._plan, self._recorder = job, number, plan, recorder
        self._spec = job.specs[number % len(job.specs)]
        self._lives = 0
        self._round = 0
        self._asleep: list[_Sleeper] = []
        self._now_ms: int | None = None
        self._session: Session | None = None
        self._is_shut_out = False
        self._plain, self._supervised = Household(), Supervision()
        self._subject = SUBJECTS[job.system]
        # A server that is dead for now; a call to it that got no answer is made again.
        self._expected = self._subject.expected | ({AWAY} if is_on_a_server(list(job.specs)) else set())
        self._memory = self._subject.memory()
        self._unresolved: deque[Call] = deque()
        self._deaths = deque(call.death for round_ in plan.rounds for call in round_ if call.death is not None)
        self._took_s: dict[str, deque[float]] = defaultdict(lambda: deque([0.001], maxlen=50))
        self._changed: dict[str, deque[int]] = defaultdict(lambda: deque(maxlen=50))  # how often a call changed files
        self._is_watched = False
        self._struck = ""  # the change before which the last session died, if one was seen
        self._is_halfway = False  # with a part of the call written

    def play(self, round_: int, now_ms: int) -> None:
        """One round."""
        self._round = round_
        self._wake(round_)
        if self._job.manual_clock:
            self._now_ms = now_ms + (self._plan.offsets_ms[round_] if self._plan.offsets_ms else 0)
            if self._session is not None:
                self._tell_time(self._session)
        for call in self._plan.rounds[round_]:
            self._resolve(1)
            self._attempt(call)

    def finish(self) -> None:
        """Resolve the calls that are left, then leave politely."""
        self._wake(self._round + ASLEEP_ROUNDS)
        self._resolve(RETRIES_MAX)
        if self._unresolved:
            self.tally.strange.append(
                f"{self._plan.name}: {len(self._unresolved)} calls could not be resolved by {RETRIES_MAX} retries"
            )
        self.leave()

    def leave(self) -> None:
        """End the session."""
        session, self._session = self._session, None
        if session is not None:
            session.door.close()
        for sleeper in self._asleep:
            sleeper.session.door.kill()
        for household in (self._plain, self._supervised):
            household.end()

    def _resolve(self, attempts: int) -> None:
        """Make again, under the same ids, the calls of which nobody knows."""
        for _ in range(attempts):
            if not self._unresolved:
                return
            self.tally.retries += 1
            self._attempt(self._unresolved.popleft())

    # -- one call

    def _attempt(self, call: Call) -> None:
        session = self._session or self._begin()
        if session is None:
            return
        self.tally.calls += 1
        try:
            if call.death is None:
                self._call_counted(session, call)
            elif call.death.kind == "asleep":
                self._deaths.popleft()
                self._fall_asleep(session, call)
                self._remember(call)
            else:
                self._deaths.popleft()
                self._call_and_die(session, call, call.death)
        except Refused as error:
            self.tally.refusals[error.code] += 1
            is_struck = call.death is not None and not error.definite  # the program behind a door may die before it
            if error.code not in self._expected and not is_struck:
                self.tally.strange.append(f"{call.method} of {self._plan.name} was in order and refused: {error}")
            if error.code == CONTRACTS[self._job.system].busy or not error.definite:
                self._remember(call)
        except DoorError as error:
            self._session = None
            session.door.kill()
            if call.death is not None and isinstance(error, Lost):
                self.tally.cut_calls += 1
            else:
                self.tally.strange.append(f"{self._plan.name}: without being killed, {call.method} ended in: {error}")
            self._remember(call)

    def _remember(self, call: Call) -> None:
        if call.method in self._subject.retried and not call.is_once:
            self._unresolved.append(Call(call.method, call.params))

    def _call(self, session: Session, call: Call) -> None:
        filled = self._memory.fill(call)
        if filled is None:
            return
        params: dict[str, Any] = _padded(filled)
        started = time.monotonic()
        reply = session.call(call.method, **params)
        self._took_s[call.method].append(time.monotonic() - started)
        self._memory.heed(call, params, reply)

    def _call_counted(self, session: Session, call: Call) -> None:
        """Under a supervisor, learn how many changes such a call makes: deaths to come are spread over them."""
        if not self._is_watched:
            self._call(session, call)
            return
        with watched_child(session.door).watched(self._job.store, lambda _: Continue()) as watch:
            self._call(session, call)
        self._changed[call.method].append(len(watch.changes))

    # -- death

    def _call_and_die(self, session: Session, call: Call, death: Death) -> None:
        """The call, and the session's end in it or right after it, whatever came of it.

        A kill counts by the point that it struck, not by the plan: one that came too late is a kill after the answer.
        """
        kind, self._struck, self._is_halfway = death.kind, "", False
        try:
            match death.kind:
                case "moment":
                    after_s = death.at * statistics.median(self._took_s[call.method])
                    with _struck_after(session.door, after_s, signal.Signals[death.end]):
                        self._call(session, call)
                case "acknowledged":
                    self._call(session, call)
                case "syscall" | "torn":
                    self._call_watched(session, call, death)
            kind = "acknowledged"
        except Refused:
            kind = "acknowledged"  # which a refusal is, too
            raise
        finally:
            session.retired = True
            _end(session.door, death)
            self._session = None
            self.tally.kills[kind] += 1
            self._recorder.record(
                "nemesis",
                process=session.process,
                op="kill",
                agent=self._plan.name,
                value={
                    "kind": kind,
                    "planned": death.kind,
                    "end": death.end,
                    "at": death.at,
                    "during": call.method,
                    "struck": self._struck,
                    "is_halfway": self._is_halfway,
                },
            )

    def _fall_asleep(self, session: Session, call: Call) -> None:
        """The session stands still, and is asked; nobody of its agent hears the answer that comes when it goes on."""
        self._session = None
        filled = self._memory.fill(call)
        if filled is None:
            self._bury(session)
        else:
            self._stop(session.door)
            self._asleep.append(_Sleeper(session, call.method, _padded(filled), self._round + ASLEEP_ROUNDS))

    def _stop(self, door: Door) -> None:
        """Stop all of its processes; an adapter alone, as the server that it started is there for others, too."""
        if self._spec.startswith("toml:") and door.pid is not None:
            os.kill(door.pid, signal.SIGSTOP)
        else:
            _signal(door, signal.SIGSTOP)

    def _wake(self, round_: int) -> None:
        """The sessions that stood still until this round go on, do what they were asked, and are killed."""
        due = [sleeper for sleeper in self._asleep if sleeper.until_round <= round_]
        self._asleep = [sleeper for sleeper in self._asleep if sleeper.until_round > round_]
        for sleeper in due:
            if why := sleeper.goes_on():
                self.tally.strange.append(f"{self._plan.name}: after it had stood still, {why}")
            self._bury(sleeper.session)

    def _bury(self, session: Session) -> None:
        session.retired = True
        session.door.kill()
        self.tally.kills["asleep"] += 1
        value = {"kind": "asleep", "planned": "asleep", "end": "SIGKILL"}
        self._recorder.record("nemesis", process=session.process, op="kill", agent=self._plan.name, value=value)

    def _call_watched(self, session: Session, call: Call, death: Death) -> None:
        usual = statistics.median(self._changed[call.method] or [CHANGES_UNSEEN])
        ordinal = max(1, round(death.at * usual))

        def decide(change: Change) -> Verdict:
            if change.ordinal < ordinal:
                return Continue()
            if death.kind == "torn":
                return Torn(change.size // 2) if change.size and change.size > 1 else Continue()
            return Kill()

        with watched_child(session.door).watched(self._job.store, decide) as watch:
            try:
                self._call(session, call)
            finally:
                if watch.is_killed:
                    self._struck = str(watch.struck)
                    written = [change for change in watch.changes[:-1] if not is_derived(change.path)]
                    self._is_halfway = bool(written) or death.kind == "torn"
                    if self._is_halfway:
                        self.tally.halfway.append(f"{call.method} of {self._plan.name}, before {self._struck}")

    # -- birth

    def _begin(self) -> Session | None:
        """A new process under a new number; None once the store turned out to be closed to this agent."""
        for _ in range(0 if self._is_shut_out else RETRIES_MAX):
            try:
                return self._open()
            except Refused as error:
                self.tally.refusals[error.code] += 1
                last: DoorError = error
            except DoorError as error:
                last = error
        if not self._is_shut_out:
            self._is_shut_out = True
            self.tally.strange.append(f"{self._plan.name} cannot open the store any more: {last}")
        return None

    def _open(self) -> Session:
        """Open a session, under the supervisor if the death that is planned for it needs one."""
        next_death = self._deaths[0] if self._deaths else None
        self._is_watched = next_death is not None and next_death.kind in ("syscall", "torn")
        door = open_door(self._spec, self._supervised.spawn if self._is_watched else self._plain.spawn)
        number = self._number + self._lives * self._job.agents_in_all
        self._lives += 1
        try:
            door.get_ready(self._job.system)
            door.call("open", {"store": str(self._job.store), "options": {}})
            session = Session(door, self._recorder, process=number, agent=self._plan.name)
            self._memory.enter(session)
        except DoorError:
            door.kill()
            raise
        self._session = session
        self._tell_time(session)
        return session

    def _tell_time(self, session: Session) -> None:
        if self._now_ms is None:
            return
        try:
            session.set_clock(self._now_ms)
        except DoorError as error:
            self._session = None
            session.door.kill()
            self.tally.strange.append(f"{self._plan.name}: the clock could not be set: {error}")


class _Sleeper(threading.Thread):
    """Waits for the answer of a session that stands still, and was asked for something meanwhile."""

    def __init__(self, session: Session, method: str, params: dict[str, Any], until_round: int) -> None:
        super().__init__(daemon=True)
        self.session, self.until_round = session, until_round
        self._method, self._params = method, params
        self._why = ""
        self.start()

    def run(self) -> None:
        """The call. A refusal is an answer."""
        try:
            self.session.call(self._method, timeout_s=ROUND_LIMIT_S, **self._params)
        except Refused:
            pass
        except DoorError as error:
            self._why = f"{self._method} ended in: {error}"

    def goes_on(self) -> str:
        """Let the session go on; why no answer came, if its request was taken at all."""
        if not self.is_alive():
            return ""
        _signal(self.session.door, signal.SIGCONT)
        self.join(AWAKE_S_MAX)
        return f"{self._method} is not answered in {AWAKE_S_MAX:g} s" if self.is_alive() else self._why


def _padded(value: Any) -> Any:
    """Paddings in full length."""
    if isinstance(value, list):
        return [_padded(item) for item in value]
    if isinstance(value, dict):
        return {name: "." * item if name == "pad" else _padded(item) for name, item in value.items()}
    return value


def _end(door: Door, death: Death) -> None:
    """The end that was planned after the answer; a session that was asked to end has a moment for it."""
    if death.end != "SIGKILL":
        if death.kind == "acknowledged" and death.end != "end of input":
            _signal(door, signal.Signals[death.end])
        door.close()
    door.kill()


@contextlib.contextmanager
def _struck_after(door: Door, seconds: float, number: signal.Signals) -> Iterator[None]:
    """A signal to the session's processes once the time has passed, before the block ends or when it ends."""
    timer = threading.Timer(seconds, _signal, (door, number))
    timer.start()
    try:
        yield
    finally:
        timer.join()  # the session is reaped only after this, so the number cannot be somebody else's by now


def _signal(door: Door, number: signal.Signals) -> None:
    """To all processes of a session that still lives."""
    if door.pid is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(door.pid, number)
