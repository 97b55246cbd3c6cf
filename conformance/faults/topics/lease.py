"""Faults of topics, lease."""

import hashlib
import os
import secrets
from typing import Any

from plant import fault, patch

from refbus.kernel.errors import AgentNameInUse
from refbus.kernel.rules import sync as rules
from refbus.kernel.rules.sync import Claim
from refbus.topics import bus, cursor
from refbus.topics.bus import TopicsBus
from refbus.topics.lease import Identity, Lease
from refbus.topics.mcp import text

CONTROL = "log.exchange"


@fault("topics.lease.23")
def a_cursor_is_a_reservation():
    """A name that an older server knew is taken, though it has no token."""

    class Faulty(Lease):
        def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
            sql = "SELECT 1 FROM cursors WHERE topic_id = ? AND agent_name = ?"
            if token is None and tx.row(sql, (topic_id, agent_name)):
                raise AgentNameInUse("the name is reserved")
            return super().claim(tx, topic_id, agent_name, token)

    patch(bus, Lease=Faulty)


@fault("topics.lease.14")
def any_token_will_do():
    """Nobody checks whether a token is the name's own."""
    join = rules.join
    patch(rules, join=lambda latest, own, token: join(latest, own, latest.reclaim_token if latest and token else token))


@fault("topics.lease.26")
class ClosedTopicsAreJoined(TopicsBus):
    """A join by name may lead to a closed topic as well."""

    def topic_join(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if kwargs.get("allow_closed", False) is False:
            kwargs["allow_closed"] = True
        return super().topic_join(*args, **kwargs)


@fault("topics.lease.16", item="corpus:83084")
def joined_for_ever():
    """A new server is, on a topic, the agent that joined it last."""
    _LAST = """
    SELECT agent_name, reclaim_token, fence, last_claimed_at
    FROM agent_name_reservations JOIN reservation_fences USING (topic_id, agent_name)
    WHERE topic_id = ? ORDER BY last_claimed_at DESC
"""

    class Faulty(Lease):
        def identity(self, topic_id: str) -> Identity:
            if topic_id not in self.joined:
                with self._store.snapshot() as tx:
                    row = tx.row(_LAST, (topic_id,))
                if row is not None:
                    self.joined[topic_id] = Identity(topic_id, row[0], Claim(*row[1:]))
            return super().identity(topic_id)

    patch(bus, Lease=Faulty)


@fault("topics.lease.18", item="corpus:83020")
def joined_here_joined_everywhere():
    """An agent that has joined a topic is on all others under the same name."""

    class Faulty(Lease):
        def identity(self, topic_id: str) -> Any:
            if self.joined and topic_id not in self.joined:
                self.topic_join(next(iter(self.joined.values())).agent_name, topic_id)
            return super().identity(topic_id)

    patch(bus, Lease=Faulty)


@fault("topics.lease.01", item="corpus:all_that_one_sync_takes")
class JoiningSaysLittle(TopicsBus):
    """topic_join does not say how the topic is named and stands."""

    def topic_join(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        reply = super().topic_join(*args, **kwargs)
        return reply | {"name": reply["topic_id"], "status": "closed"}


@fault(
    "topics.lease.02", "topics.lease.03", control="log.ping", item="corpus:all_that_one_sync_takes+tokens_among_blanks"
)
class JoinsByIdWhatIsNamed(TopicsBus):
    """topic_join takes an id for a name and a name for an id."""

    def topic_join(self, *args: Any, topic_id: Any = None, name: Any = None, **kwargs: Any) -> dict[str, Any]:
        return super().topic_join(*args, topic_id=name, name=topic_id, **kwargs)


@fault("topics.lease.11")
def looks_then_joins():
    """topic_join looks whether a name is free in one transaction and takes it in another."""
    _RESERVATION = "FROM agent_name_reservations WHERE topic_id = ? AND agent_name = ?"

    class Faulty(TopicsBus):
        def topic_join(self, agent_name: str, topic_id: Any = None, **kwargs: Any) -> dict[str, Any]:
            key = (topic_id, agent_name)
            with self.store.snapshot() as tx:
                is_free = not tx.execute(f"SELECT 1 {_RESERVATION}", key).fetchone()
            if is_free:
                with self.store.transaction() as tx:
                    tx.execute(f"DELETE {_RESERVATION}", key)
            return super().topic_join(agent_name, topic_id, **kwargs)

    return Faulty


@fault("topics.lease.10")
def names_are_of_all_topics():
    """A name that is reserved on one topic is reserved on all."""

    class Faulty(Lease):
        def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
            sql = "SELECT 1 FROM agent_name_reservations WHERE topic_id <> ? AND agent_name = ?"
            if token is None and tx.row(sql, (topic_id, agent_name)):
                raise AgentNameInUse("the name is reserved")
            return super().claim(tx, topic_id, agent_name, token)

    patch(bus, Lease=Faulty)


@fault("topics.lease.17", "topics.lease.18", item="corpus:waits_after_sending.interrupted")
def nobody_need_join():
    """An agent that has not joined is anonymous."""

    class Faulty(Lease):
        def identity(self, topic_id: str) -> Any:
            if topic_id not in self.joined:
                self.topic_join(f"anonymous-{os.getpid()}", topic_id)
            return super().identity(topic_id)

    patch(bus, Lease=Faulty)


@fault("topics.lease.29")
def refusals_help_with_the_token():
    """An agent that asks for a taken name is told the token by which it could be had."""

    class Faulty(Lease):
        def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
            try:
                return super().claim(tx, topic_id, agent_name, token)
            except AgentNameInUse as refused:
                holder = self.latest_claim(tx, topic_id, agent_name)
                raise AgentNameInUse(f"{refused}; its token is {holder.reclaim_token if holder else '?'}") from None

    patch(bus, Lease=Faulty)


@fault("topics.log.84", "topics.lease.30", chaos={"holds": True, "only": "topic_join"})
def takes_a_name_it_saw_free():
    """topic_join sees that nobody has a name, and then takes it from any agent that has it by now."""
    _OF_THE_NAME = "FROM agent_name_reservations WHERE topic_id = ? AND agent_name = ?"

    class TakesANameItSawFree(TopicsBus):
        """Any change between the two transactions is undone."""

        def topic_join(self, agent_name: str, topic_id: Any = None, **more: Any) -> dict[str, Any]:
            place = (topic_id, agent_name)
            with self.store.snapshot() as tx:
                taken = tx.row(f"SELECT 1 {_OF_THE_NAME}", place)
            if taken is None:
                with self.store.transaction() as tx:
                    tx.execute(f"DELETE {_OF_THE_NAME}", place)
            return super().topic_join(agent_name, topic_id, **more)

    return TakesANameItSawFree


@fault("topics.lease.22")
def the_absent_lose_their_names():
    """The name of an agent that is no longer present is free."""
    _FORGET = """
    DELETE FROM agent_name_reservations WHERE topic_id = ? AND agent_name IN (
        SELECT agent_name FROM cursors WHERE topic_id = ? AND updated_at < ?)
"""

    class Faulty(Lease):
        def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
            tx.execute(_FORGET, (topic_id, topic_id, tx.now_s - 300))
            return super().claim(tx, topic_id, agent_name, token)

    patch(bus, Lease=Faulty)


@fault("topics.lease.04", item="corpus:program_14")
class TheIdComesBeforeTheName(TopicsBus):
    """topic_join with both an id and a name takes the id."""

    def topic_join(self, *args: Any, topic_id: Any = None, name: Any = None, **kwargs: Any) -> dict[str, Any]:
        return super().topic_join(*args, topic_id=topic_id, name=None if topic_id else name, **kwargs)


@fault("topics.lease.27", "topics.lease.32")
def the_old_session_reads_on():
    """A session whose name was reclaimed is refused only when it sends."""

    class Call(cursor.SyncCall):
        def exchange(self, items: list[Any], ack_through: int | None) -> None:
            if not items:
                with self.cursor.store.transaction() as tx:
                    latest = self.cursor.lease.latest_claim(tx, self.me.topic_id, self.me.agent_name)
                self.me = self.me._replace(claim=latest)
            super().exchange(items, ack_through)

    patch(cursor, SyncCall=Call)


@fault("topics.lease.28", "topics.lease.32")
class TheOldSessionResetsOn(TopicsBus):
    """A session whose name was reclaimed can still move the cursor."""

    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> Any:
        self.lease.check = lambda *_: None
        try:
            return super().cursor_reset(topic_id, last_seq)
        finally:
            del self.lease.check


@fault(
    "topics.lease.31",
    chaos={"holds": True, "only": "sync that sends", "against": "a join as the same agent, and its send"},
)
def the_old_session_sends_on():
    """A session sends under the name that it joined with, even if another has taken that over since."""

    class Call(cursor.SyncCall):
        def exchange(self, items: list[Any], ack_through: int | None) -> None:
            with self.cursor.store.transaction() as tx:
                latest = self.cursor.lease.latest_claim(tx, self.me.topic_id, self.me.agent_name)
            self.me = self.me._replace(claim=latest)
            super().exchange(items, ack_through)

    patch(cursor, SyncCall=Call)


@fault("topics.lease.19", "topics.lease.20")
def the_text_hides_the_token():
    """The text of topic_join does not show the token."""
    text._TEXTS["topic_join"] = lambda reply: [f"Joined {reply['name']} as {reply['agent_name']}."]


@fault("topics.lease.13")
def tokens_are_used_once():
    """Reclaiming a name gives it a new token."""

    class Faulty(Lease):
        def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
            claim = super().claim(tx, topic_id, agent_name, token)
            if token is None:
                return claim
            token = secrets.token_hex(16)
            sql = "UPDATE agent_name_reservations SET reclaim_token = ? WHERE topic_id = ? AND agent_name = ?"
            tx.execute(sql, (token, topic_id, agent_name))
            return claim._replace(reclaim_token=token)

    patch(bus, Lease=Faulty)


@fault("topics.lease.12")
def tokens_die_with_their_server():
    """A token is worth nothing to a server that did not give it."""
    _GIVEN: set[str] = set()

    class Faulty(TopicsBus):
        def topic_join(self, *args: Any, reclaim_token: Any = None, **kwargs: Any) -> dict[str, Any]:
            known = reclaim_token if reclaim_token in _GIVEN else None
            reply = super().topic_join(*args, reclaim_token=known, **kwargs)
            _GIVEN.add(reply["reclaim_token"])
            return reply

    return Faulty


@fault("topics.lease.24", item="corpus:replies_across_topics")
class TokensInDisguise(TopicsBus):
    """The file holds tokens in another form than their owners."""

    def topic_join(self, *args: Any, reclaim_token: Any = None, **kwargs: Any) -> dict[str, Any]:
        reply = super().topic_join(*args, reclaim_token=reclaim_token and reclaim_token[::-1], **kwargs)
        return reply | {"reclaim_token": reply["reclaim_token"][::-1]}


@fault("topics.lease.21", "topics.lease.29")
def tokens_of_names():
    """A token is the hash of its name, so an agent with the name on another topic knows it."""

    class Faulty(Lease):
        def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
            claim = super().claim(tx, topic_id, agent_name, token)
            token = hashlib.sha256(agent_name.encode()).hexdigest()[:32]
            sql = "UPDATE agent_name_reservations SET reclaim_token = ? WHERE topic_id = ? AND agent_name = ?"
            tx.execute(sql, (token, topic_id, agent_name))
            return claim._replace(reclaim_token=token)

    patch(bus, Lease=Faulty)


@fault("topics.lease.08", item="corpus:told_that_it_has_not_joined+fifty_sent_again")
class NamesGetAPrefix(TopicsBus):
    """A peer is given its name with the name of the bus before it."""

    def topic_join(self, agent_name: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return super().topic_join(f"bus.{agent_name}", *args, **kwargs)


@fault("topics.lease.07", item="corpus:claimed_before_the_clock_went_back")
class TwinsGetANumber(TopicsBus):
    """A name that is taken is given with a number behind it."""

    def topic_join(self, agent_name: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return super().topic_join(agent_name, *args, **kwargs)
        except AgentNameInUse:
            return super().topic_join(f"{agent_name}-2", *args, **kwargs)


@fault("topics.lease.25", item="corpus:told_that_it_has_not_joined")
def two_may_be_one():
    """A session whose name was taken over goes on under it."""
    patch(rules, may_act=lambda _own, _latest: True)


@fault("topics.lease.15")
def who_comes_back_reads_from_the_start():
    """Reclaiming a name sets its cursor to 0."""

    class Faulty(Lease):
        def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
            claim = super().claim(tx, topic_id, agent_name, token)
            if token is not None:
                sql = "UPDATE cursors SET last_seq = 0 WHERE topic_id = ? AND agent_name = ?"
                tx.execute(sql, (topic_id, agent_name))
            return claim

    patch(bus, Lease=Faulty)


@fault("topics.lease.07", "topics.lease.09", "topics.lease.11", "topics.lease.14")
def who_joins_last_has_the_name():
    """A name goes to the last agent that joins with it."""
    join = rules.join
    patch(rules, join=lambda latest, own, token: join(latest, own, latest.reclaim_token if latest else token))
