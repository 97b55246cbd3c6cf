"""What chaos must know of a system to break a bus of it: one object, and nothing else is a system's own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from buschaos.operations import Operation, Prepare, Prepared
from buschaos.plan import Call, Role
from buschaos.state import Evidence, Problem, Promise
from busproof.adapters.base import Refused
from busproof.fleet import Fleet
from busproof.history import Event, Recorder
from busproof.protocol import HelloReply
from busproof.session import Session


class Memory:
    """What one agent of a plan remembers from call to call, over the deaths of its sessions."""

    def enter(self, session: Session) -> None:
        """What a new session says before it works."""

    def fill(self, call: Call) -> dict[str, Any]:
        """The parameters of a planned call."""
        return call.params

    def heed(self, call: Call, params: dict[str, Any], reply: dict[str, Any]) -> None:
        """What an answer told."""


def says_full(error: Refused) -> bool:
    """Is it the truth about a full disk? A code of its own, and a promise that nothing happened."""
    return error.code == "DISK_FULL" and error.definite


@dataclass(frozen=True)
class Epilogue:
    """A new call at the end of each point: who survived must be able to go on. `needs`: nouns and features."""

    method: str
    params: dict[str, Any]
    needs: tuple[str, ...] = ()


# Of the prepared store, of the victim's call, and of what the victim and its peer were told: the parameters of a call.
LateParams = Callable[[Prepared, dict[str, Any], dict[str, Any], dict[str, Any]], dict[str, Any] | None]


@dataclass(frozen=True)
class LateCall:
    """What a holder does that stood still until another took over, and knows of nothing; None where none took over."""

    method: str
    params: LateParams
    tables: tuple[str, ...]  # of the state, that it must leave alone
    noun: str  # whose rows it decides
    is_dialect: bool = False  # that it must is a choice of ours


@dataclass(frozen=True)
class PeerCall:
    """What a peer calls while another process is held in one of these operations, and in whose name.

    `later_ms`: how far the peer's clock is ahead of the victim's: a lease may have run out for it meanwhile. Where it
    is ahead, the pair is played once more with both of them that late.
    """

    name: str
    method: str
    params: Callable[[Prepared], dict[str, Any]]
    against: tuple[str, ...]
    agent: str = "bob"
    needs: tuple[str, ...] = ()
    later_ms: int = 0
    are_both_late: bool = False
    # A second call. The first one is its session's first then, and says who it is.
    then: tuple[str, Callable[[Prepared], dict[str, Any]]] | None = None
    # What it calls when it has seen the first one through, and the victim has gone on and stands still once more.
    later: tuple[tuple[str, Callable[[Prepared], dict[str, Any]]], ...] = ()
    late: tuple[LateCall, ...] = ()  # must be refused, or have no effect
    after_a_death: bool = False  # on a store that somebody left who died in the middle of the victim's operation
    is_crossed: bool = False  # nobody thought of it for the operation that it meets
    ends_a_wait: bool = False  # the victim waits WAITS_S for what this call brings

    @property
    def is_plain(self) -> bool:
        """One call at the victim's time: it may meet any operation."""
        return self.then is None and not (self.later or self.late or self.later_ms)


@dataclass(frozen=True)
class Consumer:
    """A call that returns messages and takes them off the bus, though its caller may be gone by then."""

    method: str
    params: Callable[[Prepared, bool, bool], dict[str, Any]]  # does it wait for news; does it consume by returning?
    join: Callable[[Session, Prepared], None]  # another session, which can send news
    send: Callable[[Session, Prepared], None]  # one message
    drain: Callable[[Session, Prepared], list[int]]  # all that waits for the caller: consumed, and their seqs
    seqs: Callable[[dict[str, Any]], list[int]]  # of the messages in a reply
    place: Callable[[Path, Prepared], tuple[int, float]]  # the caller's cursor: its seq, and when it was last touched


@dataclass(frozen=True)
class Repertoire:
    """What is called while a nemesis strikes."""

    operations: tuple[Operation, ...]  # killed at every write point
    prepare: Prepare  # fills a store for them
    # Of the messages that a call stores, by its method and params; on the prepared store, where files bring them.
    ids: Callable[[str, dict[str, Any]], set[str]]
    reads: frozenset[str] = frozenset()  # methods that change nothing
    like: Mapping[str, str] = field(default_factory=dict)  # what is not played → why, and what is played for it
    peers: tuple[PeerCall, ...] = ()  # what others do while an operation stands still
    # By operation: what other writers of the store do to its files meanwhile. It must end as it does without them.
    # False: there was nothing for them to do.
    others: Mapping[str, Callable[[Path], bool]] = field(default_factory=dict)
    # Calls that wait for WAITS_S, and on the prepared store for nothing else than what the peer's call brings.
    waits: tuple[tuple[Operation, PeerCall], ...] = ()


@dataclass(frozen=True)
class Truth:
    """What is read of a store, and what must be true of it whatever happened."""

    inspect: Callable[[Path], dict[str, Any]]  # what the files say, whatever the bus says
    comparable: Callable[[dict[str, Any], set[str], str], dict[str, Any]]  # dump, known ids, clock
    promises: Callable[[Iterable[Event]], list[Promise]]
    problems: Callable[[Evidence], list[Problem]]
    deliveries: Callable[[Iterable[Event]], Iterable[Problem]] = lambda _: ()  # what a whole history breaks
    # After a power cut, where a bus promises to survive the crash of a process alone: no disk writes a database and the
    # files beside it in one step, so they may be of different moments. None: `problems`, and a prefix.
    pieces: Callable[[Evidence], list[Problem]] | None = None


# Every system goes through these.
ACTS = frozenset(
    f"chaos.{act}" for act in ("random_kills", "kill_points", "power_loss", "holds", "disk_full", "damage")
)


@dataclass(frozen=True)
class Subject:
    """A system, as chaos sees it."""

    repertoire: Repertoire
    truth: Truth
    roles: tuple[Role, ...]  # who plays in a run of random kills
    memory: Callable[[], Memory]
    retried: frozenset[str]  # methods that are called again, to the letter, where nobody knows what became of them
    expected: frozenset[str]  # codes that a call of the plan may rightly be refused with
    settle: tuple[str, dict[str, Any]]  # a harmless call: answered, the call before it is over
    # An agent takes all that waits for it, or raises reading.Endless. From what was recorded it knows what it was told.
    read_all: Callable[[Session, list[Event]], None]
    export: str | None = None  # the method that brings a file up to date
    is_export_apart: bool = False  # what it writes is no part of the state that is compared
    id: str = "id"  # the column of a dump's messages that holds the ids of `Repertoire.ids`
    table: str = "messages"  # of the dump, that holds them
    files: Callable[[Path, HelloReply], list[dict[str, str]]] = (
        lambda _, __: []
    )  # what is stored beside the database: path, content
    settle_ms: int = 0  # how much later than the last round the last reading is
    # Where a session must say who it is before it works, what it says: the second call of the same session.
    enter: Callable[[Session, Prepared], None] | None = None
    read: Callable[[Path], dict[str, Any]] | None = None  # the whole state from outside, leaving all as it is
    # What it shows to those who ask, for a bus that nobody can dump: enough to compare, not to know what is missing.
    shown: Callable[[Session, HelloReply], dict[str, Any]] | None = None
    says_full: Callable[[Refused], bool] = says_full
    names_full_disk: bool = True  # the system has a word for it: another one is wrong, not a dialect
    is_alone: bool = False  # one process at a time may have a store open
    # What a survivor calls before it is asked what there is: an operation of many steps is finished by who comes next.
    catch_up: str | None = None
    # A variable of those whom a bus starts and who are no part of it: they outlive who started them, until the kit ends
    # those of a store that it has done with.
    spares: str | None = None
    end_spared: Callable[[Path], None] = lambda _: None
    # What others do to a store between a death and the survivor's coming.
    meanwhile: Callable[[Path], object] | None = None
    acts: frozenset[str] = ACTS
    consumer: Consumer | None = None  # for chaos.gone_callers
    is_slow_to_start: bool = False  # and a process serves one store: there is less of everything
    epilogue: tuple[Epilogue, ...] = ()  # new calls that a survivor makes at each point
    ahead: Callable[[Evidence], Iterable[Problem]] = lambda _: ()  # what files claim that the database does not hold

    def fill_store(
        self, fleet: Fleet, folder: Path, history: Path, *, options: dict[str, Any] | None = None
    ) -> Prepared:
        """Prepare a store, then kill those who did it, so that whoever comes next finds a write-ahead log to recover.

        Where one must be alone on a store, it is both alice and bob.
        """
        folder.mkdir()
        doors = [fleet.door(number, folder, dict(options or {})) for number in range(1 if self.is_alone else 2)]
        try:
            with contextlib.closing(Recorder(history, run="points", system=fleet.system)) as recorder:
                alice, bob = (
                    Session(door, recorder, process=number, agent=name)
                    for number, (door, name) in enumerate(zip((doors[0], doors[-1]), ("alice", "bob"), strict=True))
                )
                return self.repertoire.prepare(alice, bob, fleet.hello)
        finally:
            for door in doors:
                fleet.give_back(door, retired=True)
