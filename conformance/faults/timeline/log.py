"""Faults of timeline, log."""

import hashlib
import json
import os
import sqlite3
import zlib
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from plant import fault, patch, reword, rewrite

from refbus.kernel.db import Database
from refbus.kernel.errors import Busy, DiskFull, IdConflict, InvalidArgument, NotFound
from refbus.kernel.sight import Identity, Sight, identity
from refbus.timeline import call, cursor, fork, keys, log, message, sqlite, store, stream, verify
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage
from refbus.timeline.message import Node, Place, follow
from refbus.timeline.queue import Branch
from refbus.timeline.sqlite import SqliteQueue
from refbus.timeline.stream import Stream

CONTROL = "cursor.one_each"


@fault("timeline.log.09", control="retry.time_out", item="corpus:program_05")
def a_file_of_its_own():
    """Every process has a file of its own."""
    patch(store, SqliteQueue=lambda folder, **options: SqliteQueue(_own(folder), **options))

    def _own(folder: Path) -> Path:
        own = folder / str(os.getpid())
        own.mkdir(exist_ok=True)
        return own


@fault("timeline.log.39", control="retry.time_out")
def a_tilde_is_a_letter():
    """The path of the credentials is taken as it is written: one that begins with ~ is no file."""
    from refbus.timeline import natsclient

    _readable = natsclient._readable

    def _as_written(creds: str) -> str:
        if creds.startswith("~"):
            raise InvalidArgument(f"nats_creds: there is no {creds}")
        return _readable(creds)

    patch(natsclient, _readable=_as_written)


@fault("timeline.log.28", item="corpus:program_10")
class AfterIsFrom(TimelineBus):
    """log shows the message `after` once more."""

    # From there on.

    def log(self, timeline: str, submission: Any = None, after: int = 0, limit: Any = None) -> Any:
        return super().log(timeline, submission, after - 1 if type(after) is int and after > 0 else after, limit)


@fault("timeline.log.42", control="retry.time_out", chaos={"kills": 16})
class AnswersBeforeCommit(TimelineBus):
    """A request is answered, then sent: a kill between the two loses an acknowledged message."""

    # Sends each message with the next call of any kind, and guesses its number.
    _waiting: tuple[Any, ...] | None = None

    def send(self, key: dict[str, Any], payload: Any = None, nonce: str | None = None) -> Any:
        self._send_what_waits()
        sent = super().send(key, payload, nonce)
        if sent["duplicate"] or sent["number"] == 1:
            return sent
        self.store.queue.store.db.write("DELETE FROM messages WHERE hash = ?", (sent["hash"],))
        self.store.queue.store.db.write(
            "UPDATE timelines SET number = number - 1, hash = (SELECT m.hash FROM messages AS m WHERE"
            " m.timeline = timelines.timeline AND m.number = timelines.number - 1) WHERE hash = ?",
            (sent["hash"],),
        )
        self._waiting = (key, payload, nonce)
        return sent

    def log(self, *args: Any, **how: Any) -> Any:
        self._send_what_waits()
        return super().log(*args, **how)

    def _send_what_waits(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            super().send(*waiting)


@fault("timeline.log.10", item="corpus:program_01")
def big_numbers_are_rounded():
    """Whole numbers in payloads become doubles."""
    patch(
        message,
        jsontext=SimpleNamespace(  # type: ignore[assignment]
            **{name: getattr(message.jsontext, name) for name in ("encode", "canonical")},
            decode=lambda text: json.loads(text, parse_int=lambda digits: int(float(digits))),
        ),
    )


@fault("timeline.log.35")
class BusyIsDone(TimelineBus):
    """A send that never got the lock is answered as done."""

    # It will be there soon.

    def send(self, key: Any, **params: Any) -> Any:
        try:
            return super().send(key, **params)
        except Busy:
            return {"subject": self.subject_of(key)["subject"], "number": 2, "hash": "0" * 64, "duplicate": False}


@fault("timeline.log.04", item="corpus:program_01")
def completes_have_no_state():
    """A Complete has no hash of the agent's state."""
    draft = message.draft

    def without_state(key: keys.Key, payload: Any, nonce: str | None = None, state: str | None = None) -> message.Draft:
        return draft(key, payload, nonce, None if isinstance(key, keys.Complete) else state)

    log.draft = call.draft = without_state


@fault("timeline.log.49")
def damaged_results_are_nobodys():
    """A result whose state somebody overwrote with bytes is passed over: the agent has its older state again."""
    import refbus.timeline.log

    _author = refbus.timeline.log._author

    def of_whole_ones(node: Node) -> str | None:
        return _author(node) or ""

    patch(refbus.timeline.log, _author=of_whole_ones)


@fault("timeline.log.06", item="corpus:program_03")
def delegates_have_no_state():
    """A DelegateReply has no hash of the target's state."""
    draft = message.draft

    def without_state(key: keys.Key, payload: Any, nonce: str | None = None, state: str | None = None) -> message.Draft:
        return draft(key, payload, nonce, None if isinstance(key, keys.DelegateReply) else state)

    log.draft = call.draft = without_state


@fault("timeline.log.18")
def fields_run_together():
    """The hash is over the fields without their lengths."""

    def run_together(
        number: int, subject: str, nonce: str | None, state: str | None, payload: str, time_us: int, previous: str
    ) -> str:
        text = f"{previous}{number}{subject}{nonce or ''}{state or ''}{payload}{time_us}"
        return hashlib.sha256(text.encode()).hexdigest()

    message.link = verify.link = log.link = run_together


@fault("timeline.log.37")
class ForgetsNowAndThen(TimelineBus):
    """Every seventh message is acknowledged, and not stored."""

    # Answers first.

    def send(self, *args: Any, **kwargs: Any) -> Any:
        sent = super().send(*args, **kwargs)
        if sent["number"] % 7 == 0:
            self.store.queue.store.db.write("DELETE FROM messages WHERE hash = ?", (sent["hash"],))
        return sent


@fault("timeline.log.07", item="corpus:program_05")
def forks_say_nothing():
    """A Fork message does not say of what it is a fork."""
    draft = fork.draft
    patch(fork, draft=lambda key, payload: draft(key, {}))


@fault("timeline.log.48", chaos={"power": 60})
def full_is_normal():
    """synchronous = FULL: a pragma of the schema sets NORMAL again, and no commit is synced."""
    patch(sqlite, PRAGMAS=(*sqlite.PRAGMAS, "PRAGMA synchronous = NORMAL"))


@fault("timeline.log.46", item="explore:states")
def gives_back_when_it_opens():
    """Whoever opens the file gives back what others have in their hands."""
    begin = SqliteQueue.__init__

    def opened(queue: SqliteQueue, *args: Any, **options: Any) -> None:
        begin(queue, *args, **options)
        with queue.store.transaction() as tx:
            tx.execute("UPDATE deliveries SET visible_at_us = 0")

    patch(SqliteQueue, __init__=opened)


@fault("timeline.log.19", item="corpus:program_03")
def hashes_of_another_form():
    """A hash is BLAKE2, over the fields as JSON."""

    def of_json(*fields: Any) -> str:
        return hashlib.blake2b(json.dumps(fields).encode(), digest_size=20).hexdigest()

    message.link = verify.link = log.link = of_json


@fault("timeline.log.41", chaos={"points": True, "only": "send"})
def head_in_two_steps():
    """The message is stored, and in a second transaction the head of its timeline: a kill between breaks the chain."""
    append, set_head = SqliteQueue.append, SqliteQueue.set_head
    left: list[Branch] = []

    def in_two_steps(queue: SqliteQueue, *draft: Any) -> Any:
        stored = append(queue, *draft)
        while left:
            with queue.store.transaction() as tx:
                set_head(queue, tx, left.pop())
        return stored

    patch(SqliteQueue, append=in_two_steps, set_head=lambda queue, tx, branch: left.append(branch))


@fault("timeline.log.23")
class HeadsAreForgotten(TimelineBus):
    """verify takes a head, and does not look at it."""

    # Everything there is right.

    def verify(self, timeline: str | None = None, head: str | None = None) -> Any:
        return super().verify(timeline)


@fault("timeline.log.01", item="corpus:program_03")
def inputs_are_texts():
    """A user's input is always a text: a number or an object becomes one."""
    draft = message.draft

    def as_text(key: keys.Key, payload: Any, nonce: str | None = None, state: str | None = None) -> message.Draft:
        return draft(key, str(payload) if isinstance(key, keys.Invoke) else payload, nonce, state)

    log.draft = call.draft = as_text


@fault("timeline.log.47", chaos={"damage": 1})
def looks_at_the_database_alone():
    """A database that was removed is noticed, the log beside it is not: writes made then are found by nobody."""

    def the_database(self: Sight) -> tuple[Identity | None, Identity | None]:
        return identity(self._paths[0]), None

    patch(Sight, _found=the_database)


@fault("timeline.log.20")
def looks_for_the_head_before_it_locks():
    """The head of the chain is read before the lock is taken: two writers follow one message."""
    append = SqliteQueue.append
    chained = sqlite.chained
    heads: dict[str, Place] = {}

    def looking(queue: SqliteQueue, draft: Any, *more: Any) -> Any:
        branch = queue.branch(draft.timeline)
        heads[draft.timeline] = branch.last if branch else Place()
        return append(queue, draft, *more)

    def follow(draft: Any, last: Place, time_us: int) -> Any:
        head = heads[draft.timeline]
        return chained(draft, Place(last.number, head.hash if head.number else last.hash), time_us)

    patch(SqliteQueue, append=looking)
    patch(sqlite, chained=follow)


@fault("timeline.log.37")
class LosesOneInTwenty(TimelineBus):
    """One acknowledged message in twenty is gone, and the bus declares the least that it can."""

    NOUNS, FEATURES = ("log", "cursor", "route"), ()

    def send(self, key: dict[str, Any], payload: Any = None, nonce: str | None = None) -> Any:
        sent = super().send(key, payload, nonce)
        if zlib.crc32(sent["hash"].encode()) % 20 == 0:
            self.store.queue.store.db.write("DELETE FROM messages WHERE hash = ?", (sent["hash"],))
        return sent


@fault("timeline.log.48", chaos={"power": 100})
def never_syncs():
    """synchronous = OFF. A power cut leaves the parts of the record that reached the disk by chance."""
    import refbus.kernel.store

    class Unsynced(Database):
        """Every connection is told so."""

        def __init__(self, path: Any, *, synchronous: str = "NORMAL", pragmas: Any = ()) -> None:
            super().__init__(path, synchronous="OFF", pragmas=pragmas)

    patch(refbus.kernel.store, Database=Unsynced)


@fault("timeline.log.14", item="corpus:program_15")
def nonces_are_ignored():
    """A delegation is known by its key alone: one with another nonce is a repeat, or a conflict."""
    reword(sqlite, "_FIND", "AND coalesce(nonce, '') = ?", "AND coalesce(nonce, '') >= substr(?, 1, 0)")


@fault("timeline.log.17", item="corpus:program_03")
def nothing_comes_before():
    """A message does not tell the hash before it."""
    as_message = message.as_message

    def alone(node: message.Node) -> message.Message:
        return {**as_message(node), "previous": message.START}

    for module in (log, cursor, verify):
        module.as_message = alone


@fault("timeline.log.36", control="retry.time_out")
class NumbersInPairs(TimelineBus):
    """Two messages of a timeline are told the same number."""

    # Counts every other one.

    def send(self, *args: Any, **kwargs: Any) -> Any:
        sent = super().send(*args, **kwargs)
        return {**sent, "number": (sent["number"] + 1) // 2}


@fault("timeline.log.33", item="corpus:program_02")
def one_byte_more_passes():
    """A payload may have one byte more than the page says."""
    patch(message, PAYLOAD_BYTES_MAX=message.PAYLOAD_BYTES_MAX + 1)
    del TimelineBus.LIMITS["payload_bytes_max"]


@fault("timeline.log.12", item="corpus:program_01")
def other_content_is_dropped():
    """Other content under a known key of a type that asks is dropped in silence."""
    own = message.Node.content.fget
    ASKS = ("invoke", "req", "delegate")
    patch(message.Node, content=property(lambda node: _Anything() if node.subject.split(".")[3] in ASKS else own(node)))

    class _Anything:
        """Is the same as the value it is compared with."""

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 0


@fault("timeline.log.52")
def payloads_gain_a_member():
    """A payload is recorded inside of an object that nobody sent."""
    draft = message.draft

    def wrapped(key: keys.Key, payload: Any, nonce: str | None = None, state: str | None = None) -> message.Draft:
        return draft(key, {"payload": payload} if isinstance(key, keys.Request) else payload, nonce, state)

    patch(log, draft=wrapped)


@fault("timeline.log.25", "timeline.log.31")
class RefusalsAreRecorded(TimelineBus):
    """A send that was refused is recorded all the same, as another submission's."""

    # Keeps messages that it did not take.

    def send(self, key: Any, **params: Any) -> Any:
        try:
            return super().send(key, **params)
        except IdConflict:
            super().send({**key, "submission": f"{key['submission']}-failed"}, **params)
            raise


@fault("timeline.log.16", item="corpus:sent_twice")
def repeats_burn_numbers():
    """A repeat burns a number, and the timeline says that it stands where no message is."""
    append = SqliteQueue.append

    def burning(queue: SqliteQueue, draft: Any, *more: Any) -> Any:
        node, duplicate = append(queue, draft, *more)
        if duplicate:
            queue.store.db.write("UPDATE timelines SET number = number + 1 WHERE timeline = ?", (draft.timeline,))
        return node, duplicate

    patch(SqliteQueue, append=burning)


@fault("timeline.log.11", item="corpus:program_05")
class RepeatsLookNew(TimelineBus):
    """A message that was sent before is answered as if it were new."""

    # Takes it for granted that nobody sends twice.

    def send(self, *args: Any, **kwargs: Any) -> Any:
        return {**super().send(*args, **kwargs), "duplicate": False}


@fault("timeline.log.02", item="corpus:program_19")
def requests_are_wrapped():
    """A Request reaches its worker in an object that nobody sent."""
    draft = message.draft

    def wrapped(key: keys.Key, payload: Any, nonce: str | None = None, state: str | None = None) -> message.Draft:
        if isinstance(key, keys.Request):
            payload = {"payload": payload}
        return draft(key, payload, nonce, state)

    log.draft = call.draft = wrapped


@fault("timeline.log.03", item="corpus:said_in_every_way")
def responses_are_texts():
    """A service's response comes back as a text."""
    draft = message.draft

    def as_text(key: keys.Key, payload: Any, nonce: str | None = None, state: str | None = None) -> message.Draft:
        if isinstance(key, keys.Response):
            payload = str(payload)
        return draft(key, payload, nonce, state)

    log.draft = call.draft = as_text


@fault("timeline.log.40")
def results_reach_nobody():
    """A worker never fetches a Complete."""
    take = SqliteQueue.take

    def but_completes(queue: SqliteQueue, wanted: Any, wait_s: float = 0) -> Any:
        return None if wanted.kind is keys.Complete else take(queue, wanted, wait_s)

    patch(SqliteQueue, take=but_completes)


@fault("timeline.log.32")
def rollback_journal():
    """The journal is not a write-ahead log."""

    class WithoutLog(sqlite3.Connection):
        """Leaves the file as SQLite makes it."""

        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            return super().execute("SELECT 'wal'" if sql == "PRAGMA journal_mode = WAL" else sql, *args)

    patch(sqlite3, connect=partial(sqlite3.connect, factory=WithoutLog))


@fault("timeline.log.45")
class SaysNamesMayBeLonger(TimelineBus):
    """hello tells 201 bytes for a name, and 201 are refused."""

    LIMITS = TimelineBus.LIMITS | {"name_bytes_max": 201}


@fault("timeline.log.13", item="corpus:program_01")
class SecondAnswersAreDropped(TimelineBus):
    """A second, other answer is taken, and dropped."""

    # The first answer wins, and nobody is told.

    def reply(self, key: Any, **params: Any) -> Any:
        try:
            return super().reply(key, **params)
        except IdConflict:
            node = self.store.queue.find(keys.subject(keys.reply_key(keys.from_dict(key), params.get("nonce"))))
            assert node is not None
            return {"subject": node.subject, "number": node.number, "hash": node.hash, "duplicate": True}


@fault("timeline.log.15", item="corpus:program_02")
def send_takes_replies():
    """send takes an answer, too."""
    patch(log, Invoke=log.Invoke | keys.Complete | keys.Response | keys.DelegateReply)


@fault("timeline.log.08", control="cursor.one_each")
def services_are_not_recorded():
    """The record shows the messages of harness and agent, not those of services."""
    read = Lineage.read

    def of_agents(lineage: Lineage, *args: Any, **kwargs: Any) -> Any:
        return (
            node
            for node in read(lineage, *args, **kwargs)
            if ".req." not in node.subject and ".res." not in node.subject
        )

    patch(Lineage, read=of_agents)


@fault("timeline.log.26", item="corpus:values")
def state_hashes_follow_the_order_of_members():
    """The same state has another hash when its members stand in another order."""
    patch(log, state_hash=lambda state: sha256(message.json_text("state", state).encode()).hexdigest())


@fault("timeline.log.34", control="retry.time_out")
def stores_late():
    """A message is answered, and stored with the next call. A kill between the two loses it."""
    append = SqliteQueue.append
    late: dict[int, tuple[Any, ...]] = {}

    def later(queue: SqliteQueue, *draft: Any) -> Any:
        waiting = late.pop(id(queue), None)
        if waiting:
            append(queue, *waiting)
        before = queue.branch(draft[0].timeline)
        node, duplicate = append(queue, *draft)
        if before is not None and not duplicate and before.last.number % 3 == 2:
            late[id(queue)] = draft
            queue.store.db.write("DELETE FROM messages WHERE hash = ?", (node.hash,))
            queue.store.db.write(
                "UPDATE timelines SET number = ?, hash = ? WHERE timeline = ?", (*before.last, draft[0].timeline)
            )
        return node, duplicate

    patch(SqliteQueue, append=later)


@fault("timeline.log.20")
def strangers_are_all_the_first():
    """On NATS, each message of programs that know only the subjects follows the one that the first of them follows."""
    from refbus.timeline import jetstream

    def follows_nobody(last: Place, *fields: object) -> Node:
        return follow(Place(), *fields)

    patch(jetstream, follow=follows_nobody)


@fault("timeline.log.42", control="retry.time_out", chaos={"kills": 16}, door="nats:")
def streams_in_memory():
    """The stream is kept in the server's memory: a server that is killed loses all that was acknowledged."""
    from refbus.timeline import jetstream

    for module in (jetstream, stream):
        module.PATIENCE_S = 1.0  # a lost message does not come back: nobody learns more by waiting
    _api = Stream.api

    def _in_memory(of: Stream, name: str, body: dict[str, Any]) -> dict[str, Any]:
        return _api(of, name, body | {"storage": "memory"} if name.startswith("STREAM.CREATE.") else body)

    patch(Stream, api=_in_memory)


@fault("timeline.log.05", item="corpus:program_01")
def subtasks_are_empty():
    """A delegated sub-task arrives without its payload."""
    draft = message.draft

    def emptied(key: keys.Key, payload: Any, nonce: str | None = None, state: str | None = None) -> message.Draft:
        return draft(key, None if isinstance(key, keys.Delegate) else payload, nonce, state)

    log.draft = call.draft = emptied


@fault("timeline.log.43", chaos={"disk_full": True, "only": "send", "levels": (0,)})
class SwallowsFullDisk(TimelineBus):
    """A full disk is answered as if the message were sent."""

    # Sent, it says.

    def send(self, key: dict[str, Any], payload: Any = None, nonce: str | None = None) -> Any:
        try:
            return super().send(key, payload, nonce)
        except DiskFull:
            return {"subject": self.subject_of(key)["subject"], "number": 1, "hash": "0" * 64, "duplicate": False}


@fault("timeline.log.27", item="corpus:behind_the_first_result")
class TheFirstStateStays(TimelineBus):
    """An agent's state is that of its first result."""

    # Looks no further.

    def state(self, timeline: str, agent: str) -> Any:
        for row in self.log(timeline)["messages"]:
            key = row["key"] or {}
            if row["state"] is not None and agent in (key.get("target"), key.get("agent")):
                return {"state": row["state"], "number": row["number"]}
        return super().state(timeline, agent)


@fault("timeline.log.18")
def the_state_is_not_hashed():
    """The hash leaves the state out."""
    link = message.link

    def without_state(number: int, subject: str, nonce: Any, state: Any, *rest: Any) -> str:
        return link(number, subject, nonce, None, *rest)

    message.link = verify.link = log.link = without_state


@fault("timeline.log.30", item="corpus:program_03")
def times_in_milliseconds():
    """time_us is in milliseconds."""
    as_message = message.as_message

    def in_ms(node: message.Node) -> message.Message:
        return {**as_message(node), "time_us": node.time_us // 1_000}

    for module in (log, cursor, verify):
        module.as_message = in_ms


@fault("timeline.log.29", item="corpus:program_02")
class UnknownTimelinesAreEmpty(TimelineBus):
    """A timeline that nobody has written to is shown as an empty one."""

    # Nothing is there, and nothing is wrong.

    def log(self, timeline: Any, submission: Any = None, after: Any = 0, limit: Any = None) -> Any:
        try:
            return super().log(timeline, submission, after, limit)
        except NotFound:
            return {"messages": []}


@fault("timeline.log.09")
def unknown_timelines_stay_unknown():
    """A session that looked for a timeline before anybody had written to it does not see it for ever after."""
    branch, append = SqliteQueue.branch, SqliteQueue.append
    UNKNOWN: dict[SqliteQueue, set[str]] = {}

    def remembered(queue: SqliteQueue, timeline: str) -> Branch | None:
        known = None if timeline in UNKNOWN.setdefault(queue, set()) else branch(queue, timeline)
        if known is None:
            UNKNOWN[queue].add(timeline)
        return known

    def written(queue: SqliteQueue, message, *more):
        done = append(queue, message, *more)
        UNKNOWN.setdefault(queue, set()).discard(message.timeline)
        return done

    patch(SqliteQueue, branch=remembered, append=written)


@fault("timeline.log.24", item="corpus:program_03")
class VerifyCountsTimelines(TimelineBus):
    """verify says how many timelines it has looked at."""

    # One is one.

    def verify(self, *args: Any, **kwargs: Any) -> Any:
        return {**super().verify(*args, **kwargs), "checked": len(self.timelines()["timelines"])}


@fault("timeline.log.22")
def verify_looks_at_each_alone():
    """verify holds each message against its own hash, and none against the one before it."""
    wrong = verify._wrong
    patch(
        verify,
        _wrong=lambda node, last, timeline: (why for why in wrong(node, last, timeline) if why.startswith("the hash")),
    )
    patch(sqlite.SqliteQueue, contradictions=lambda queue: [])


@fault("timeline.log.21")
def verify_trusts_hashes():
    """verify follows the chain, but does not compute a hash anew."""
    patch(verify, link=lambda *fields: _Any())

    class _Any(str):
        """Equals anything."""

        def __ne__(self, other: object) -> bool:
            return False

        __hash__ = str.__hash__


@fault("timeline.log.50")
def writes_into_a_removed_file():
    """The open file is believed: a write after somebody removed it is acknowledged, and gone."""
    patch(Database, refuse_another_file=lambda self, **how: None)


@fault("timeline.log.22", item="log.cut_chain")
def believes_each_by_itself():
    """verify does not hold `previous` against the hash before: a message of another record is sound in its place."""
    rewrite(
        verify._wrong, '    if node.previous != last.hash:\n        yield "previous is not the hash before it"\n', ""
    )


@fault("timeline.log.55")
class KeepsWhatItVerified(TimelineBus):
    """Each verify leaves memory behind."""

    def verify(self, *args: Any, **how: Any) -> Any:
        self.__dict__.setdefault("_verified", []).append(bytearray(os.urandom(1) * (4 << 20)))
        return super().verify(*args, **how)
