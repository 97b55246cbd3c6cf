"""Faults of comms, log."""

import contextlib
import functools
import json
import os
import sqlite3
import uuid
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from sqlite3 import Cursor
from types import SimpleNamespace
from typing import Any

from plant import fault, in_two_steps, patch, reword, wrap

from refbus.comms import bus, envelope, lease, log, route, store
from refbus.comms.bus import CommsBus
from refbus.comms.envelope import COLUMNS, STANDARD_TYPES
from refbus.comms.lease import Leases
from refbus.comms.log import Log
from refbus.comms.presence import Presence
from refbus.comms.route import Route
from refbus.comms.vote import Tally, Votes
from refbus.kernel import db, files, iso, jsontext
from refbus.kernel.db import Database
from refbus.kernel.errors import BusError, Corrupt, IdConflict, InvalidArgument, SchemaMismatch
from refbus.kernel.rules import retry
from refbus.kernel.sight import Identity, Sight, identity

CONTROL = "log.envelope"


def stored_as(change: Callable[[Any], Any]) -> None:
    """A message is stored with another envelope than was sent."""
    wrap(Log, insert=lambda whole, self, tx, sent, expires_at: whole(self, tx, change(sent), expires_at))


@fault("comms.log.88")
def a_damaged_row_breaks_all():
    """One payload that is no JSON breaks the whole answer."""

    class Faulty(Route):
        def ready(self, *args: Any) -> list[dict[str, Any]]:
            messages = super().ready(*args)
            if any("payload_error" in message for message in messages):
                raise Corrupt("a payload is no JSON")
            return messages

    patch(bus, Route=Faulty)


@fault("comms.log.88")
def a_list_is_a_payload():
    """Any JSON that a stranger stored as a payload is handed out."""
    as_message = route.as_message

    def whatever(row: tuple[Any, ...]) -> dict[str, Any]:
        message = as_message(row)
        if message.pop("payload_error", None) == "no_object":
            message["payload"] = jsontext.decode(row[COLUMNS.index("payload")])
        return message

    patch(route, as_message=whatever)


@fault("comms.log.53")
class AMissingChannelIsFine(CommsBus):
    """A missing field is not told."""

    def validate_message(self, message: Any) -> dict[str, Any]:
        reply = super().validate_message(message)
        reply["errors"] = [e for e in reply["errors"] if "field: channel" not in e]
        return {"valid": not reply["errors"], "errors": reply["errors"]}


@fault("comms.log.19")
def agent_status_has_one_more_column():
    """The table agent_status is not the seed's."""
    reword(store, "SCHEMA.seed", "CREATE TABLE agent_status (", "CREATE TABLE agent_status (\n    extra TEXT,")


@fault("comms.log.21")
def an_index_is_missing():
    """There is no index on the expiry."""
    reword(
        store,
        "SCHEMA.seed",
        "CREATE INDEX idx_expiration ON messages(expires_at)\n    WHERE expires_at IS NOT NULL;\n",
        "",
    )


@fault("comms.log.32", "comms.limit.15")
class AnonymousSenders(CommsBus):
    """A message without a sender comes from nobody."""

    @functools.wraps(CommsBus.send_message)  # the driver looks at its parameters
    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        kwargs["from_agent"] = kwargs.get("from_agent") or "nobody"
        return super().send_message(*args, **kwargs)


@fault("comms.log.24")
def another_file():
    """The database has another name."""
    patch(store, DB_NAME="bus.db")


@fault("comms.log.02", control="log.defaults")
class AnotherId(CommsBus):
    """The id that is returned is not the message's."""

    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        super().send_message(*args, **kwargs)
        return {"message_id": str(uuid.uuid4())}


@fault("comms.log.25")
def another_version():
    """protocol_version.txt says 1."""
    patch(store, PROTOCOL_VERSION="1")


@fault("comms.log.72", chaos={"kills": 16})
class AnswersBeforeCommit(CommsBus):
    """Send_message is answered, then committed. A kill between the two loses an acknowledged message."""

    # Keeps each message until the next call.
    _waiting: dict[str, Any] | None = None

    def send_message(self, **message: Any) -> dict[str, Any]:
        self._write_what_waits()
        if "message_id" not in message:
            return super().send_message(**message)
        self._waiting = message
        return {"message_id": message["message_id"]}

    def receive_messages(self, **how: Any) -> dict[str, Any]:
        self._write_what_waits()
        return super().receive_messages(**how)

    def _write_what_waits(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            super().send_message(**waiting)


@fault("comms.log.31")
class AnyPayload(CommsBus):
    """A payload that is no object becomes one."""

    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if not isinstance(kwargs.get("payload"), dict):
            kwargs["payload"] = {"value": kwargs.get("payload")}
        return super().send_message(*args, **kwargs)


@fault("comms.log.30", "comms.log.33", "comms.log.70")
class AnyPriority(CommsBus):
    """A priority may be anything, and becomes 5."""

    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        priority = kwargs.pop("priority", 5)
        good = type(priority) is int and 2 <= priority <= 9
        return super().send_message(*args, priority=priority if good else 5, **kwargs)


@fault("comms.log.73", chaos={"disk_full": True, "only": "write_artifact", "levels": (), "errors": ("short",)})
def believes_a_short_write():
    """A write is called once, and its count is not looked at. An artifact may have its first bytes alone."""

    def write_once(fd: int, data: bytes) -> None:
        """As if write() took all or nothing."""
        os.write(fd, data)

    patch(files, write_all=write_once)


@fault("comms.log.71", chaos={"points": True, "only": "complete_message to the dead letters"})
def buries_in_two_steps():
    """The dead letter is written, then the message removed. A kill between the two leaves both."""

    class BuriesInTwoSteps(Leases):
        """The letter commits with the failure; the message goes in a transaction of its own."""

        _buried: str | None = None

        def complete_message(self, *args: Any, **how: Any) -> Any:
            reply = super().complete_message(*args, **how)
            buried, self._buried = self._buried, None
            if buried is not None:
                with self.store.transaction() as tx:
                    tx.execute("DELETE FROM messages WHERE id = ?", (buried,))
                    tx.execute("DELETE FROM message_deliveries WHERE message_id = ?", (buried,))
            return reply

        def bury(self, tx: Any, message_id: str, agent_id: str, after: Any, error: str, is_broadcast: bool) -> None:
            super().bury(tx, message_id, agent_id, after, error, True)
            letter = "UPDATE dead_letter_queue SET id = ? WHERE original_message LIKE ?"
            tx.execute(letter, (message_id, f'%"{message_id}"%'))
            self._buried = message_id

    patch(bus, Leases=BuriesInTwoSteps)


@fault("comms.log.57")
def changes_what_it_refuses():
    """A project of another version is refused when its database has been given a table."""
    import refbus.comms.store

    _agree = refbus.comms.store.agree_on_version

    def _open_first(path: Path) -> None:
        with closing(sqlite3.connect(path.parent / "messages.db")) as db:
            db.execute("CREATE TABLE IF NOT EXISTS of_ours (id)")
        _agree(path)

    patch(refbus.comms.store, agree_on_version=_open_first)


@fault("comms.log.10", "comms.route.01", control="log.defaults")
def channel_is_changed():
    """There is one channel for all."""

    stored_as(lambda sent: sent._replace(channel="general"))


@fault("comms.log.18")
def channel_subscriptions_has_one_more_column():
    """The table channel_subscriptions is not the seed's."""
    reword(
        store,
        "SCHEMA.seed",
        "CREATE TABLE channel_subscriptions (",
        "CREATE TABLE channel_subscriptions (\n    extra TEXT,",
    )


@fault("comms.log.40")
def cleans_up_all():
    """The clean-up removes every message that has an expiry."""
    reword(log, "_EXPIRED", "expires_at <= :now", ":now = :now")


@fault("comms.log.41")
class CleansUpNothing(CommsBus):
    """The clean-up counts expired messages and leaves them."""

    def cleanup_expired_messages(self) -> dict[str, Any]:
        row = self.store.db.row("SELECT count(*) FROM messages WHERE expires_at <= ?", (self.store.now(),))
        return {"deleted": row[0]}


@fault("comms.log.39")
class CleansUpUncounted(CommsBus):
    """The clean-up says that it removed nothing."""

    def cleanup_expired_messages(self) -> dict[str, Any]:
        super().cleanup_expired_messages()
        return {"deleted": 0}


@fault("comms.log.43", "comms.log.44", "comms.log.45", "comms.log.46", "comms.log.47", "comms.log.48", "comms.log.49")
class ClosedSchemas(CommsBus):
    """A payload of a standard type may hold nothing more than its schema."""

    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        schema = STANDARD_TYPES.get(kwargs.get("message_type", ""))
        if schema is not None and not kwargs["payload"].keys() <= schema.keys():
            raise InvalidArgument("a member too many")
        return super().send_message(*args, **kwargs)


@fault("comms.log.07", "comms.log.35", control="log.defaults")
def correlation_id_is_changed():
    """The correlation id is forgotten."""

    stored_as(lambda sent: sent._replace(correlation_id=None))


@fault("comms.log.52")
class CorrelationMustBeAUuid(CommsBus):
    """The seed's own example is found invalid."""

    def validate_message(self, message: Any) -> dict[str, Any]:
        reply = super().validate_message(message)
        reply["errors"] += ["no UUID"] * (isinstance(message, dict) and message.get("correlation_id") == "req-001")
        return {"valid": not reply["errors"], "errors": reply["errors"]}


@fault("comms.log.23")
def counts_the_send():
    """A message that was just sent has one delivery."""

    class Faulty(Log):
        def insert(self, tx: Any, envelope: Any, expires_at: Any) -> None:
            super().insert(tx, envelope, expires_at)
            tx.execute("UPDATE messages SET delivery_count = 1 WHERE id = ?", (envelope.id,))

    patch(bus, Log=Faulty)


@fault("comms.log.20")
def dead_letter_queue_has_one_more_column():
    """The table dead_letter_queue is not the seed's."""
    reword(
        store, "SCHEMA.seed", "CREATE TABLE dead_letter_queue (", "CREATE TABLE dead_letter_queue (\n    extra TEXT,"
    )


@fault("comms.log.13")
class DefaultPriorityIsOne(CommsBus):
    """A message without a priority gets the lowest."""

    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return super().send_message(*args, **{"priority": 1, **kwargs})


@fault("comms.log.28")
def does_not_wait_for_locks():
    """A locked file is an error at once."""
    patch(db, BUSY_TIMEOUT_MS=0)
    patch(retry, LOCK_ATTEMPTS_MAX=1)


@fault("comms.log.38")
def expired_is_claimed():
    """Expired messages are claimed until somebody cleans up."""
    reword(lease, "_CLAIMABLE", "live_until > :now", "TRUE")


@fault("comms.log.37")
def expired_is_shown():
    """Expired messages are received until somebody cleans up."""
    reword(route, "_READY", "live_until > :now", "TRUE")


@fault("comms.log.63")
class FirstErrorOnly(CommsBus):
    """Only one of all faults is told."""

    def validate_message(self, message: Any) -> dict[str, Any]:
        reply = super().validate_message(message)
        del reply["errors"][1:]
        return {"valid": not reply["errors"], "errors": reply["errors"]}


@fault("comms.log.08", control="log.defaults")
def from_agent_is_changed():
    """The bus is the sender of everything."""

    stored_as(lambda sent: sent._replace(from_agent="bus"))


@fault("comms.log.36")
def half_the_ttl():
    """Messages live half as long as they should."""
    time_to_live_s = log.time_to_live_s

    def half(channel: str, ttl_seconds: Any) -> int | None:
        return time_to_live_s(channel, ttl_seconds // 2 if isinstance(ttl_seconds, int) else ttl_seconds)

    patch(log, time_to_live_s=half)


@fault("comms.log.65")
def ids_are_used_once():
    """A known id is refused, also with the same content."""

    class Faulty(Log):
        def is_known(self, tx: Any, envelope: Any) -> bool:
            if super().is_known(tx, envelope):
                raise IdConflict("the id is taken")
            return False

    patch(bus, Log=Faulty)


@fault("comms.log.66")
def ids_hide_other_content():
    """A known id is answered as if its content were the first."""

    class Faulty(Log):
        def is_known(self, tx: Any, envelope: Any) -> bool:
            try:
                return super().is_known(tx, envelope)
            except IdConflict:
                return True

    patch(bus, Log=Faulty)


@fault("comms.log.14")
class IdsOfContent(CommsBus):
    """The id is a hash of the content."""

    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        kwargs.setdefault("message_id", str(uuid.uuid5(uuid.NAMESPACE_OID, repr(kwargs))))
        return super().send_message(*args, **kwargs)


@fault("comms.log.94", chaos={"damage": 1})
def looks_at_the_database_alone():
    """A database that was removed is noticed, the log beside it is not: writes made then are found by nobody."""

    def the_database(self: Sight) -> tuple[Identity | None, Identity | None]:
        return identity(self._paths[0]), None

    patch(Sight, _found=the_database)


@fault("comms.log.92")
def looks_before_a_transaction_alone():
    """Sends and claims look for the file; a heartbeat or a subscription, which is one statement, is written
    anywhere.
    """

    def write(self: Database, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> Cursor:
        return self.connection().execute(sql, values)

    patch(Database, write=write)


@fault("comms.log.01", "comms.log.16", "comms.log.27", "comms.route.04", control="log.unique_ids")
def loses_everything():
    """A send stores nothing."""

    class Faulty(Log):
        def insert(self, tx: Any, envelope: Any, expires_at: Any) -> None:
            return

    patch(bus, Log=Faulty)


@fault("comms.log.69", "comms.lease.24")
def loses_one_in_five():
    """Every fifth send of a process is lost."""

    class Faulty(Log):
        sends = 0

        def insert(self, tx: Any, envelope: Any, expires_at: Any) -> None:
            type(self).sends += 1
            if self.sends % 5:
                super().insert(tx, envelope, expires_at)

    patch(bus, Log=Faulty)


@fault("comms.log.69", control="log.send")
class LosesOneInTwenty(CommsBus):
    """One acknowledged message in twenty is gone, and the bus declares the least that it can."""

    NOUNS, FEATURES = ("log", "route", "lease"), ()

    def send_message(self, *args: Any, **how: Any) -> Any:
        sent = super().send_message(*args, **how)
        if zlib.crc32(sent["message_id"].encode()) % 20 == 0:
            self.store.db.write("DELETE FROM messages WHERE id = ?", (sent["message_id"],))
        return sent


@fault("comms.log.57")
class MakesFoldersBeforeItLooks(CommsBus):
    """A project of another version is refused once the folder of artifacts is made."""

    def __init__(self, project_root: str, **options: Any) -> None:
        (Path(project_root) / ".claude" / "artifacts").mkdir(parents=True, exist_ok=True)
        super().__init__(project_root, **options)


@fault("comms.log.17")
def messages_has_one_more_column():
    """The table messages is not the seed's."""
    reword(store, "SCHEMA.seed", "CREATE TABLE messages (", "CREATE TABLE messages (\n    extra TEXT,")


@fault("comms.log.26")
class NoArtifactsFolder(CommsBus):
    """The folder of the artifacts is made when it is needed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not any(self.store.artifacts.iterdir()):
            self.store.artifacts.rmdir()


@fault("comms.log.15")
def nulls_are_dropped():
    """Members of the payload that are null are lost."""

    class Faulty(Log):
        def insert(self, tx: Any, envelope: Any, expires_at: Any) -> None:
            kept = {key: value for key, value in json.loads(envelope.payload).items() if value is not None}
            super().insert(tx, envelope._replace(payload=json.dumps(kept)), expires_at)

    patch(bus, Log=Faulty)


@fault("comms.log.62")
class OneWinnerOfATie(CommsBus):
    """The first option of a tie wins."""

    def tally(self, vote_id: str) -> dict[str, Any]:
        reply = super().tally(vote_id)
        return {**reply, "winners": reply["winners"][:1]}


@fault("comms.log.66")
def only_payloads_are_compared():
    """A known id with its payload is the same message, even for another recipient."""

    class Faulty(Log):
        def is_known(self, tx: Any, envelope: Any) -> bool:
            try:
                return super().is_known(tx, envelope)
            except IdConflict:
                row = tx.execute("SELECT payload FROM messages WHERE id = ?", (envelope.id,)).fetchone()
                if row is None or row[0] != envelope.payload:
                    raise
                return True

    patch(bus, Log=Faulty)


@fault("comms.log.27")
class OpeningWipes(CommsBus):
    """Opening a project empties it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store.db.write("DELETE FROM messages")


@fault("comms.log.57")
def opens_another_protocol():
    """A project of another protocol version is opened."""
    agree_on_version = store.agree_on_version

    def look_away(path: Path) -> None:
        with contextlib.suppress(SchemaMismatch):
            agree_on_version(path)

    patch(store, agree_on_version=look_away)


@fault("comms.log.67", "comms.log.68")
def own_rows_only():
    """Rows whose timestamp has no microseconds are not seen."""
    reword(route, "_READY", "status = 'pending'", "status = 'pending' AND length(timestamp) = 27")
    reword(lease, "_CLAIMABLE", "WHERE", "WHERE length(timestamp) = 27 AND")


@fault("comms.log.12", "comms.log.15", "comms.log.96", control="log.defaults")
def payload_is_changed():
    """The payload is wrapped once more."""

    stored_as(lambda sent: sent._replace(payload=json.dumps({"payload": json.loads(sent.payload)})))


@fault("comms.log.11", "comms.route.08", control="log.unique_ids")
def priority_is_changed():
    """Priority 1 is the highest."""

    stored_as(lambda sent: sent._replace(priority=11 - sent.priority))


@fault("comms.log.29")
def readers_take_the_lock():
    """A reader waits for writers."""
    patch(db, BUSY_TIMEOUT_MS=100)
    patch(retry, LOCK_ATTEMPTS_MAX=1)

    class Faulty(Route):
        def ready(self, *args: Any) -> list[dict[str, Any]]:
            with self.store.db.transaction():
                pass
            return super().ready(*args)

    patch(bus, Route=Faulty)


@fault("comms.log.29")
def health_takes_the_lock():
    """Who asks for an agent's health waits for writers, though there is nothing to change."""
    patch(db, BUSY_TIMEOUT_MS=100)
    patch(retry, LOCK_ATTEMPTS_MAX=1)
    health = Presence.get_agent_health

    def get_agent_health(self: Presence, agent_id: str) -> Any:
        with self.store.transaction():
            pass
        return health(self, agent_id)

    patch(Presence, get_agent_health=get_agent_health)


@fault("comms.log.22")
def rollback_journal():
    """The journal is not a write-ahead log."""
    from refbus.kernel import store

    class WithoutLog(store.Database):
        """From the first connection on: a log that goes away later was removed."""

        def __init__(self, *args: Any, pragmas: Any = (), **kwargs: Any) -> None:
            super().__init__(*args, pragmas=(*pragmas, "PRAGMA journal_mode = DELETE"), **kwargs)

    patch(store, Database=WithoutLog)


@fault("comms.log.50", "comms.log.89")
def schemas_are_not_asked():
    """The payload of a standard type may be any object."""
    patch(envelope, _check_standard_payload=lambda message_type, payload: None)


@fault("comms.log.16", control="log.unique_ids")
class SendsLater(CommsBus):
    """A send is kept in memory until its process receives."""

    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        kwargs.setdefault("message_id", str(uuid.uuid4()))
        self.__dict__.setdefault("kept", []).append((args, kwargs))
        return {"message_id": kwargs["message_id"]}

    def receive_messages(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        for its_args, its_kwargs in self.__dict__.pop("kept", []):
            super().send_message(*its_args, **its_kwargs)
        return super().receive_messages(*args, **kwargs)


@fault("comms.log.71", chaos={"points": True, "only": "send_message, once"})
def sends_once_in_two_steps():
    """Senders give no id; a message is stored, and its recipient's counter moves in a transaction of its own."""
    made = in_two_steps(CommsBus, "send_message", Presence, "count")
    made.FEATURES = tuple(name for name in CommsBus.FEATURES if name != "idempotent_send")
    return made


@fault("comms.log.03", control="log.defaults")
def short_ids():
    """Ids are eight digits."""

    stored_as(lambda sent: sent._replace(id=sent.id[:8]))


@fault("comms.log.51", control="log.defaults")
def standard_types_only():
    """Only the eight standard types are sent."""
    STANDARD = (
        "context.query",
        "context.response",
        "task.claim",
        "task.update",
        "vote.initiate",
        "broadcast",
        "heartbeat",
        "note",
    )

    class Faulty(CommsBus):
        def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
            if kwargs.get("message_type") not in STANDARD:
                raise InvalidArgument("no such type")
            return super().send_message(*args, **kwargs)

    return Faulty


@fault("comms.log.34", "comms.limit.16")
class StoresWhatItRefuses(CommsBus):
    """A message that is refused is stored all the same."""

    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return super().send_message(*args, **kwargs)
        except InvalidArgument:
            super().send_message("a", "b", "note", {})
            raise


@fault("comms.log.73", chaos={"disk_full": True, "only": "send_message", "levels": (0,)})
class SwallowsFullDisk(CommsBus):
    """Any error of a claim is "somebody else has it" (W8 of another bus); any error of a send is BUSY."""

    # A full disk reads as contention.

    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        try:
            return super().claim_message(agent_id=agent_id, message_id=message_id)
        except BusError:
            return {"claimed": False}

    def send_message(self, **message: Any) -> dict[str, Any]:
        try:
            return super().send_message(**message)
        except BusError as error:
            error.code = "BUSY"
            raise


@fault("comms.log.33")
def takes_nan():
    """NaN and Infinity are taken for null."""
    decode = jsontext.decode
    patch(
        jsontext,
        decode=lambda text, around=0: decode(json.dumps(json.loads(text, parse_constant=lambda _: None)), around),
    )


@fault("comms.log.95", chaos={"holds": True, "only": "vote.cast"})
def tallies_past_the_lock():
    """A tally reads without the lock: it says closed while a vote cast in time is on its way, and is counted later."""
    _tally = Votes.tally

    def tally(self: Votes, vote_id: str) -> Tally:
        reads = SimpleNamespace(transaction=self.store.snapshot)
        return _tally(Votes(reads), vote_id)

    patch(Votes, tally=tally)


@fault("comms.log.90", item="corpus:letters_and_time")
def the_buried_are_forgotten():
    """A send that is tried again after its message was buried is a new message."""
    patch(log, _LETTER=log._LETTER + " AND FALSE")
    assert "dead_letter_queue WHERE id = ? AND FALSE" in log._LETTER


@fault("comms.log.60")
def the_first_vote_counts():
    """An agent that has voted cannot change its vote."""

    class Faulty(Votes):
        def cast_vote(self, tx: Any, envelope: Any) -> None:
            first = tx.execute(
                "SELECT * FROM vote_casts WHERE vote_id = ? AND agent_id = ?",
                (json.loads(envelope.payload)["vote_id"], envelope.from_agent),
            ).fetchone()
            super().cast_vote(tx, envelope)
            if first:
                tx.execute("INSERT OR REPLACE INTO vote_casts VALUES (?, ?, ?, ?, ?)", first)

    patch(bus, Votes=Faulty)


@fault("comms.log.91", item="corpus:votes")
def the_removed_are_forgotten():
    """A send that is tried again after a clean-up is a new message."""
    patch(log, _REMOVED=log._REMOVED + " AND FALSE")
    assert "removed_messages WHERE message_id = ? AND FALSE" in log._REMOVED


@fault("comms.log.06", control="log.defaults")
def timestamp_is_changed():
    """Messages have no time."""

    stored_as(lambda sent: sent._replace(timestamp="1970-01-01T00:00:00.000000Z"))


@fault("comms.log.09", "comms.route.05", control="log.defaults")
def to_agent_is_changed():
    """Every message is a broadcast."""

    stored_as(lambda sent: sent._replace(to_agent=None))


@fault("comms.log.04", control="log.defaults")
def type_is_changed():
    """A type is stored in capitals."""

    stored_as(lambda sent: sent._replace(type=sent.type.upper()))


@fault("comms.log.42", item="corpus:answers_live_as_long")
def urgent_is_like_any_channel():
    """An urgent message lives as long as the rest."""
    patch(log, TTL_URGENT_S=log.TTL_S)


@fault("comms.log.55")
class ValidatesNoPayload(CommsBus):
    """A payload that is a list is found valid."""

    def validate_message(self, message: Any) -> dict[str, Any]:
        reply = super().validate_message(message)
        reply["errors"] = [e for e in reply["errors"] if "payload must" not in e]
        return {"valid": not reply["errors"], "errors": reply["errors"]}


@fault("comms.log.54", "comms.log.64")
class ValidatesNoPriority(CommsBus):
    """A priority of eleven is found valid."""

    def validate_message(self, message: Any) -> dict[str, Any]:
        reply = super().validate_message(message)
        reply["errors"] = [e for e in reply["errors"] if not e.startswith("priority")]
        return {"valid": not reply["errors"], "errors": reply["errors"]}


@fault("comms.log.56")
class ValidatesNoVersion(CommsBus):
    """Version 2.0 is found valid."""

    def validate_message(self, message: Any) -> dict[str, Any]:
        reply = super().validate_message(message)
        reply["errors"] = [e for e in reply["errors"] if "version" not in e]
        return {"valid": not reply["errors"], "errors": reply["errors"]}


@fault("comms.log.05", control="log.defaults")
def version_is_changed():
    """Messages are of version 1."""

    stored_as(lambda sent: sent._replace(version="1"))


@fault("comms.log.71", chaos={"points": True, "only": "vote.cast"})
def votes_afterwards():
    """A vote's message is stored, and the vote counted in a transaction of its own."""
    return in_two_steps(CommsBus, "send_message", Votes, "heed")


@fault("comms.log.59", "comms.log.61", "comms.log.62")
def votes_for_anything():
    """A vote is cast for any option, at any time."""

    class Faulty(Votes):
        def cast_vote(self, tx: Any, envelope: Any) -> None:
            cast = json.loads(envelope.payload)
            tx.execute(
                "INSERT OR REPLACE INTO vote_casts VALUES (?, ?, ?, NULL, ?)",
                (cast["vote_id"], envelope.from_agent, cast["option"], envelope.timestamp),
            )

    patch(bus, Votes=Faulty)


@fault("comms.log.50")
class VotesHaveReasons(CommsBus):
    """A vote without a reasoning is refused."""

    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if kwargs.get("message_type") == "vote.cast" and "reasoning" not in kwargs["payload"]:
            raise InvalidArgument("why?")
        return super().send_message(*args, **kwargs)


@fault("comms.log.62")
class VotesNeverClose(CommsBus):
    """A tally is open for ever."""

    def tally(self, vote_id: str) -> dict[str, Any]:
        return {**super().tally(vote_id), "closed": False}


@fault("comms.log.58", control="log.defaults")
def whole_seconds():
    """Timestamps have no microseconds."""

    stored_as(lambda sent: sent._replace(timestamp=sent.timestamp[:19] + "Z"))


@fault("comms.log.92")
def writes_into_a_removed_file():
    """The open file is believed: a write after somebody removed it is acknowledged, and gone."""
    patch(Database, refuse_another_file=lambda self, **how: None)


@fault("comms.log.99")
def waits_for_a_lock_for_ever():
    """The busy time-out is more than an hour: a writer waits for as long as another one keeps the lock."""
    patch(db, BUSY_TIMEOUT_MS=5_000_000)


@fault("comms.log.61", item="log.vote_cast", author="public report, mcp_agent_mail #73")
def times_without_a_zone_are_local():
    """A time without a zone is taken as local: a deadline is another one for each process."""
    parse = iso.parse

    def parse_local(what: str, value: Any) -> int:
        with contextlib.suppress(ValueError, TypeError):
            if (at := datetime.fromisoformat(value)).tzinfo is None:
                value = at.astimezone().isoformat()
        return parse(what, value)

    patch(iso, parse=parse_local)
