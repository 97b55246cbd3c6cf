"""The knowledge that chaos needs to break a bus of a system: one object, and nothing else is a system's own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from buschaos.operations import Operation, Prepare, Prepared
from buschaos.plan import Call, Role
from buschaos.state import Evidence, Problem, Promise
from busproof.bus.base import Refused
from busproof.bus.fleet import Fleet
from busproof.bus.session import Session
from busproof.contract import HelloReply
from busproof.contract.history import Event, Recorder


class Memory:
    """The memory of one agent of a plan from call to call, over the deaths of its sessions."""

    def enter(self, session: Session) -> None:
        """Make the calls of a new session that come before its work."""

    def fill(self, call: Call) -> dict[str, Any] | None:
        """The parameters of a planned call; None if there is nothing yet that it could be about."""
        return call.params

    def heed(self, call: Call, params: dict[str, Any], reply: dict[str, Any]) -> None:
        """Remember the content of an answer."""


def says_full(error: Refused) -> bool:
    """Is it the truth about a full disk? A code of its own, and a promise that nothing happened."""
    return error.code == "DISK_FULL" and error.definite


@dataclass(frozen=True)
class Epilogue:
    """A new call at the end of each point: a survivor must be able to go on. `needs`: nouns and features."""

    method: str
    params: dict[str, Any]
    needs: tuple[str, ...] = ()


# From the prepared store, the victim's call, and the answers to the victim and its peer: the parameters of a call.
LateParams = Callable[[Prepared, dict[str, Any], dict[str, Any], dict[str, Any]], dict[str, Any] | None]


@dataclass(frozen=True)
class LateCall:
    """A call of a holder that stood still until another took over, and knows of nothing; None if none took over."""

    method: str
    params: LateParams
    tables: tuple[str, ...]  # the tables of the state that it must leave alone
    noun: str  # whose rows it decides
    is_dialect: bool = False  # we chose that it must


@dataclass(frozen=True)
class PeerCall:
    """A call of a peer while another process is held in one of these operations, and the agent in whose name it is.

    `later_ms`: how far the peer's clock is ahead of the victim's: a lease may have run out for it meanwhile. If it is
    ahead, the pair is played once more with both of them that late, and once more with that time passing for both
    between the victim's standing still and the peer's call (`passes_ms`).
    """

    name: str
    method: str
    params: Callable[[Prepared], dict[str, Any]]
    against: tuple[str, ...]
    agent: str = "bob"
    needs: tuple[str, ...] = ()
    later_ms: int = 0
    are_both_late: bool = False
    passes_ms: int = 0
    # A second call. The first one is then the first of its session, and says who it is.
    then: tuple[str, Callable[[Prepared], dict[str, Any]]] | None = None
    # Its calls after the first one is through, when the victim has gone on and stands still once more.
    later: tuple[tuple[str, Callable[[Prepared], dict[str, Any]]], ...] = ()
    late: tuple[LateCall, ...] = ()  # must be refused, or have no effect
    after_a_death: bool = False  # on a store left by a process that died in the middle of the victim's operation
    is_crossed: bool = False  # nobody thought of it for the operation that it meets
    ends_a_wait: bool = False  # the victim waits WAITS_S for the news that this call brings
    # Before such a wait, in the same second: news come and go. A file's time in whole seconds tells no later news.
    stirs: Callable[[Session, HelloReply], object] | None = None
    is_whole: bool = False  # never stands still itself: the victim may as well come between its two calls
    goes_on: bool = False  # makes its second call, too, if the first one is refused
    deed: Callable[[Path], object] = lambda _: None  # of another program, to the store's files after the peer's calls

    @property
    def is_plain(self) -> bool:
        """One call at the victim's time: it may meet any operation."""
        return self.then is None and not (self.later or self.late or self.later_ms or self.passes_ms)


@dataclass(frozen=True)
class Consumer:
    """A call that returns messages and takes them off the bus, though its caller may be gone by then."""

    method: str
    params: Callable[[Prepared, bool, bool], dict[str, Any]]  # does it wait for news; does it consume by returning?
    join: Callable[[Session, Prepared], None]  # another session, which can send news
    send: Callable[[Session, Prepared], None]  # one message
    drain: Callable[[Session, Prepared], list[int]]  # consumes all that waits for the caller, and returns the seqs
    seqs: Callable[[dict[str, Any]], list[int]]  # of the messages in a reply
    place: Callable[[Path, Prepared], tuple[int, float]]  # the caller's cursor: its seq, and when it was last touched
    database: str  # below the store


@dataclass(frozen=True)
class Repertoire:
    """The calls that are made while a nemesis strikes."""

    operations: tuple[Operation, ...]  # killed at every write point
    prepare: Prepare  # fills a store for them
    # The ids of the messages that a call stores, by its method and params; if files bring them, on the prepared store.
    ids: Callable[[str, dict[str, Any]], set[str]]
    reads: frozenset[str] = frozenset()  # methods that change nothing
    forgets: frozenset[str] = frozenset()  # methods that remove what is old: they meet nobody an hour later
    like: Mapping[str, str] = field(default_factory=dict)  # not played → why, and the one that is played for it
    peers: tuple[PeerCall, ...] = ()  # calls of others while an operation stands still
    # By operation: the work of other writers of the store on its files meanwhile. It must end as it does without them.
    # False: there was nothing for them to do.
    others: Mapping[str, Callable[[Path], bool]] = field(default_factory=dict)
    # Calls that wait for WAITS_S; on the prepared store only the peer's call brings them news.
    waits: tuple[tuple[Operation, PeerCall], ...] = ()


@dataclass(frozen=True)
class Truth:
    """The facts that are read of a store, and those that must be true of it whatever happened."""

    inspect: Callable[[Path], dict[str, Any]]  # the facts of the files, whatever the bus says
    comparable: Callable[[dict[str, Any], set[str], str], dict[str, Any]]  # dump, known ids, clock
    promises: Callable[[Iterable[Event]], list[Promise]]
    problems: Callable[[Evidence], list[Problem]]
    deliveries: Callable[[Iterable[Event]], Iterable[Problem]] = lambda _: ()  # the problems of a whole history
    # After a power cut, if a bus promises to survive the crash of a process alone: no disk writes a database and the
    # files beside it, or several files, in one step: they may be of different moments. None: `problems`, and a prefix.
    pieces: Callable[[Evidence], list[Problem]] | None = None


# Every system goes through these.
@dataclass(frozen=True)
class Subject:
    """A system, as chaos sees it."""

    repertoire: Repertoire
    truth: Truth
    roles: tuple[Role, ...]  # the players in a run of random kills
    memory: Callable[[], Memory]
    retried: frozenset[str]  # methods that are called again, to the letter, if nobody knows what became of the call
    expected: frozenset[str]  # codes with which a call of the plan may rightly be refused
    settle: tuple[str, dict[str, Any]]  # a harmless call: once it is answered, the call before it is over
    # An agent takes all that waits for it, or raises reading.Endless. The recorded events say what it was told.
    read_all: Callable[[Session, list[Event]], None]
    export: str | None = None  # the method that brings a file up to date
    is_export_apart: bool = False  # its file is no part of the state that is compared
    id: str = "id"  # the column of a dump's messages that holds the ids of `Repertoire.ids`
    table: str = "messages"  # the table of the dump that holds them
    files: Callable[[Path, HelloReply], list[dict[str, str]]] = (
        lambda _, __: []
    )  # files that are stored beside the database: path, content
    settle_ms: int = 0  # how much later than the last round the last reading is
    # The call by which a session says who it is, if it must before it works: the second call of the same session.
    enter: Callable[[Session, Prepared], None] | None = None
    read: Callable[[Path], dict[str, Any]] | None = None  # the whole state from outside, leaving all as it is
    # The state that it shows to those who ask, for a bus that nobody can dump: enough to compare, not to find a loss.
    shown: Callable[[Session, HelloReply], dict[str, Any]] | None = None
    says_full: Callable[[Refused], bool] = says_full
    names_full_disk: bool = True  # the system has a word for it: another one is wrong, not a dialect
    is_alone: bool = False  # one process at a time may have a store open
    # A survivor's call before it is asked what there is: the next to come finishes an operation of many steps.
    catch_up: str | None = None
    # A variable of processes that a bus starts and that are no part of it: they outlive the process that started them,
    # until the kit ends those of a store that it has done with.
    spares: str | None = None
    end_spared: Callable[[Path], None] = lambda _: None
    # The work of others on a store between a death and the survivor's coming.
    meanwhile: Callable[[Path], object] | None = None
    consumer: Consumer | None = None  # for callers that go
    is_slow_to_start: bool = False  # and a process serves one store: there is less of everything
    epilogue: tuple[Epilogue, ...] = ()  # new calls that a survivor makes at each point
    ahead: Callable[[Evidence], Iterable[Problem]] = lambda _: ()  # claims of files that the database does not hold

    def fill_store(
        self, fleet: Fleet, folder: Path, history: Path, *, options: dict[str, Any] | None = None
    ) -> Prepared:
        """Prepare a store, then kill those who did it, so that the next to come finds a write-ahead log to recover.

        The folder may be there, and say which server the store is on. If one must be alone on a store, it is both
        alice and bob.
        """
        folder.mkdir(exist_ok=True)
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
