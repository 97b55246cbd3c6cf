"""Faults of comms, route."""

import time
import uuid
from collections.abc import Callable
from typing import Any

from plant import fault, patch, reword, wrap

from refbus.comms import bus, lease, request, route, store
from refbus.comms.bus import CommsBus
from refbus.comms.envelope import validate_message
from refbus.comms.request import Requests
from refbus.comms.route import Route
from refbus.kernel.errors import TimedOut
from refbus.kernel.store import Store

CONTROL = "route.addressed"


@fault("comms.log.09", item="corpus")
def a_broadcast_is_personal():
    """A broadcast names its reader as its addressee."""

    wrap(
        Route,
        ready=lambda whole, self, agent_id, channels, limit: [
            {**message, "to_agent": agent_id} for message in whole(self, agent_id, channels, limit)
        ],
    )


@fault("comms.route.38", "comms.lease.19", "comms.lease.21")
def a_broadcast_is_taken_in_its_row():
    """An agent that claims a broadcast takes it from all (C3)."""
    reword(lease, "_CLAIMABLE", "to_agent IS NULL)", "to_agent IS NULL AND status = 'pending')")

    class Faulty(CommsBus):
        def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
            reply = super().claim_message(agent_id, message_id)
            if reply["claimed"]:
                self.store.db.write("UPDATE messages SET status = 'processing' WHERE id = ?", (message_id,))
            return reply

    return Faulty


@fault("comms.route.45")
def a_claim_opens_a_broadcast_to_all():
    """A broadcast that one agent has claimed is answered by any other."""
    reword(request, "_CLAIMED", " AND agent_id = ?", " AND ? IS NOT NULL")


@fault("comms.route.24", "comms.route.29")
class AnswersAreNewConversations(CommsBus):
    """An answer gets a correlation id of its own."""

    def send_response(self, original_message: dict[str, Any], response_payload: Any, **more: Any) -> dict[str, Any]:
        original_message = {**original_message, "correlation_id": "new"}
        return super().send_response(original_message, response_payload, **more)


@fault("comms.route.25")
class AnswersComeFromTheBus(CommsBus):
    """An answer comes from the bus."""

    def send_response(self, original_message: dict[str, Any], response_payload: Any, **more: Any) -> dict[str, Any]:
        original_message = {**original_message, "to_agent": "bus"}
        return super().send_response(original_message, response_payload, **more)


@fault("comms.route.26")
class AnswersGoAstray(CommsBus):
    """An answer goes to the agent bus."""

    def send_response(self, original_message: dict[str, Any], response_payload: Any, **more: Any) -> dict[str, Any]:
        original_message = {**original_message, "from_agent": "bus"}
        return super().send_response(original_message, response_payload, **more)


@fault("comms.route.28")
class AnswersHavePriorityFive(CommsBus):
    """An answer has the default priority."""

    def send_response(
        self,
        original_message: Any,
        response_payload: Any,
        artifact_path: Any = None,
        agent_id: Any = None,
        message_id: Any = None,
    ) -> dict[str, Any]:
        if validate_message(original_message)[0]:
            original_message = {**original_message, "priority": 5}
        return super().send_response(original_message, response_payload, artifact_path, agent_id, message_id)


@fault("comms.route.28")
def answers_keep_the_word_query():
    """The answer to X.query is X.query.response."""
    patch(request, response_type=lambda request_type: f"{request_type}.response")


@fault("comms.route.31")
def answers_tell_any_path():
    """An answer may refer to any file."""
    patch(request, ARTIFACTS="")


@fault("comms.route.42")
def anyone_answers():
    """Any agent that answers a message does so in its addressee's name."""

    class Faulty(Requests):
        def send_response(self, original_message: Any, response_payload: Any, *more: Any, **how: Any) -> Any:
            if original_message.get("to_agent") is not None:
                how.pop("agent_id", None)
            return super().send_response(original_message, response_payload, *more, **how)

    patch(bus, Requests=Faulty)


@fault("comms.route.31")
class AnythingIsAnswered(CommsBus):
    """A value that is no envelope is answered all the same."""

    def send_response(self, original_message: dict[str, Any], response_payload: Any, **more: Any) -> dict[str, Any]:
        blank = {
            "id": str(uuid.uuid4()),
            "type": "note",
            "version": "1.0",
            "timestamp": self.store.now(),
            "from_agent": "nobody",
            "to_agent": more.get("agent_id"),
            "channel": "general",
            "priority": 5,
            "payload": {},
        }
        return super().send_response({**blank, **original_message}, response_payload, **more)


@fault("comms.route.27")
class ArtifactIsNotTold(CommsBus):
    """The path of an artifact is left out of the answer."""

    def send_response(self, original_message: dict[str, Any], response_payload: Any, **more: Any) -> dict[str, Any]:
        more.pop("artifact_path", None)
        return super().send_response(original_message, response_payload, **more)


@fault("comms.route.42")
def broadcasts_are_answered_unclaimed():
    """A broadcast is answered by an agent that has not claimed it."""

    class Faulty(Requests):
        def check_claimed(self, tx: Any, message_id: str, agent_id: str) -> None:
            return

    patch(bus, Requests=Faulty)


@fault("comms.route.30")
class BroadcastsAreNotAnswered(CommsBus):
    """An agent that answers a broadcast has no name."""

    def send_response(self, original_message: dict[str, Any], response_payload: Any, **more: Any) -> dict[str, Any]:
        more.pop("agent_id", None)
        return super().send_response(original_message, response_payload, **more)


@fault("comms.route.04", control="route.subscriptions")
def broadcasts_only():
    """Messages to one agent are not shown."""
    reword(route, "_READY", "to_agent = :agent", "FALSE")


@fault("comms.route.07")
def channel_after_channel():
    """Channels are not merged: one stands behind the other."""

    class Faulty(Route):
        def ready(self, agent_id: str, channels: list[str], limit: int) -> list[dict[str, Any]]:
            rows = [row for channel in channels for row in super(Faulty, self).ready(agent_id, [channel], limit)]
            return rows[:limit]

    patch(bus, Route=Faulty)


@fault("comms.route.46", chaos={"waits": True})
def counts_when_it_has_looked():
    """A reader that saw nothing counts messages, and looks again if there are more: one that came meanwhile is
    counted.
    """

    def count(store: Store) -> int:
        return int(store.db.row("SELECT count(*) FROM messages")[0])

    def wait_for(store: Store, look: Any, wait_s: float) -> Any:
        end = time.monotonic() + wait_s
        while not (reply := look()) and time.monotonic() < end:
            before = count(store)
            while count(store) == before and time.monotonic() < end:
                time.sleep(0.005)
        return reply

    patch(Store, wait_for=wait_for)


@fault("comms.route.12")
def default_limit_is_100():
    """By default a hundred are received."""

    class Faulty(CommsBus):
        def receive_messages(self, agent_id: str, channels: list[str], limit: int = 100, **more: Any) -> dict[str, Any]:
            return super().receive_messages(agent_id, channels, limit, **more)

    return Faulty


@fault("comms.route.16")
class DoesNotWait(CommsBus):
    """The time-out of a receive is ignored."""

    def receive_messages(self, *args: Any, timeout_seconds: Any = None, **kwargs: Any) -> dict[str, Any]:
        return super().receive_messages(*args, **kwargs)


@fault("comms.route.19")
class EverybodyHasGeneral(CommsBus):
    """Every agent is subscribed to general."""

    def get_subscribed_channels(self, agent_id: str) -> dict[str, Any]:
        return {"channels": ["general", *super().get_subscribed_channels(agent_id)["channels"]]}


@fault("comms.route.05", control="route.channels")
def everybody_sees_all():
    """Messages to one agent are shown to all."""
    reword(route, "_READY", "to_agent = :agent", "to_agent IS NOT NULL")


@fault("comms.route.02")
def first_channel_only():
    """Only one of several channels is looked at."""

    wrap(Route, ready=lambda whole, self, agent_id, channels, limit: whole(self, agent_id, channels[:1], limit))


@fault("comms.route.01", "comms.route.03", "comms.route.39")
def ignores_channels():
    """All channels are shown, whichever is asked for."""

    class Faulty(Route):
        def ready(self, agent_id: str, channels: list[str], limit: int) -> list[dict[str, Any]]:
            every = [row[0] for row in self.store.db.rows("SELECT DISTINCT channel FROM messages")]
            return super().ready(agent_id, every, limit)

    patch(bus, Route=Faulty)


@fault("comms.route.09")
def limit_before_order():
    """The oldest few are taken, then ordered."""

    class Faulty(Route):
        def ready(self, agent_id: str, channels: list[str], limit: int) -> list[dict[str, Any]]:
            oldest = sorted(super().ready(agent_id, channels, 10**6), key=lambda row: row["timestamp"])[:limit]
            return sorted(oldest, key=lambda row: (-row["priority"], row["timestamp"]))

    patch(bus, Route=Faulty)


@fault("comms.route.08", "comms.route.39")
def lowest_first():
    """Priority 1 comes first."""

    class Faulty(Route):
        def ready(self, agent_id: str, channels: list[str], limit: int) -> list[dict[str, Any]]:
            rows = super().ready(agent_id, channels, 10**6)
            return sorted(rows, key=lambda row: (row["priority"], row["timestamp"]))[:limit]

    patch(bus, Route=Faulty)


@fault("comms.route.11")
class NoLimit(CommsBus):
    """All there is, whatever the limit."""

    def receive_messages(self, agent_id: str, channels: list[str], limit: int = 10, **more: Any) -> dict[str, Any]:
        return super().receive_messages(agent_id, channels, 1000, **more)


@fault("comms.route.13", "comms.route.14", "comms.route.15")
class ReceivingClaims(CommsBus):
    """A received message is claimed."""

    def receive_messages(self, agent_id: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        reply = super().receive_messages(agent_id, *args, **kwargs)
        for message in reply["messages"]:
            self.claim_message(agent_id, message["id"])
        return reply


@fault("comms.route.34")
def request_completes_nothing():
    """The answer that a request took is received again."""

    class Faulty(Requests):
        def take_answer(self, agent_id: str, correlation_id: str, sent: str) -> dict[str, Any] | None:
            rows = [
                m for m in Route(self.store).ready(agent_id, ["general"], 1000) if m["correlation_id"] == correlation_id
            ]
            return next((m for m in rows if m["id"] != sent), None)

    patch(bus, Requests=Faulty)


@fault("comms.route.35", dies_of="INTERNAL")
def request_ends_in_silence():
    """A request without an answer is an internal fault."""
    patch(TimedOut, code="INTERNAL")


@fault("comms.route.32")
def request_sees_ten():
    """A request looks for its answer among the first ten messages."""

    class Faulty(Requests):
        def take_answer(self, agent_id: str, correlation_id: str, sent: str) -> dict[str, Any] | None:
            first = [message["id"] for message in Route(self.store).ready(agent_id, ["general"], 10)]
            row = self.store.db.row(
                "SELECT id FROM messages WHERE correlation_id = ? AND to_agent = ?", (correlation_id, agent_id)
            )
            return super().take_answer(agent_id, correlation_id, sent) if row and row[0] in first else None

    patch(bus, Requests=Faulty)


@fault("comms.route.33")
def request_takes_any_message():
    """A request takes the first message for its answer."""

    class Faulty(Requests):
        def take_answer(self, agent_id: str, correlation_id: str, sent: str) -> dict[str, Any] | None:
            messages = Route(self.store).ready(agent_id, ["general"], 1)
            return messages[0] if messages else None

    patch(bus, Requests=Faulty)


@fault("comms.route.36")
class RequestWaitsAMinute(CommsBus):
    """A request waits for sixty seconds."""

    LIMITS = {**CommsBus.LIMITS, "request_timeout_ms": 60_000}  # noqa: RUF012


@fault("comms.route.06", control="route.channels")
def senders_do_not_hear_themselves():
    """A broadcast is not shown to its sender."""
    reword(route, "_READY", "to_agent IS NULL AND", "to_agent IS NULL AND from_agent <> :agent AND")


@fault("comms.route.44")
def shows_rows_without_a_name():
    """Rows whose id is no text are shown."""
    reword(store, "SCHEMA.extra", "WHERE typeof(id) = 'text'", "WHERE TRUE")
    patch(route, can_be_named=lambda message_id: True)


@fault("comms.route.43")
def shows_what_a_stranger_took():
    """A failed message that is due is shown also when a stranger has taken it since."""
    reword(store, "SCHEMA.extra", "m.status = d.status;", "m.status IN ('processing', 'failed');")


@fault("comms.route.37", "comms.lease.03")
def shows_what_is_in_hand():
    """A message in processing is received."""
    reword(route, "_READY", "status = 'pending'", "status IN ('pending', 'processing')")


@fault("comms.route.20")
class SubscribingDoesNothing(CommsBus):
    """A subscription is forgotten."""

    def subscribe_to_channel(self, agent_id: str, channel_name: str) -> dict[str, Any]:
        return {}


@fault("comms.route.21")
class SubscriptionsAreShared(CommsBus):
    """Every agent has everybody's channels."""

    def get_subscribed_channels(self, agent_id: str) -> dict[str, Any]:
        rows = self.store.db.rows("SELECT DISTINCT channel_name FROM channel_subscriptions ORDER BY 1")
        return {"channels": [row[0] for row in rows]}


@fault("comms.route.23")
class SubscriptionsInMemory(CommsBus):
    """A subscription is the process's own."""

    def subscribe_to_channel(self, agent_id: str, channel_name: str) -> dict[str, Any]:
        self.__dict__.setdefault("mine", set()).add((agent_id, channel_name))
        return {}

    def unsubscribe_from_channel(self, agent_id: str, channel_name: str) -> dict[str, Any]:
        self.__dict__.setdefault("mine", set()).discard((agent_id, channel_name))
        return {}

    def get_subscribed_channels(self, agent_id: str) -> dict[str, Any]:
        mine = self.__dict__.get("mine", set())
        return {"channels": sorted(channel for agent, channel in mine if agent == agent_id)}


@fault("comms.route.10")
def ties_are_newest_first():
    """Among messages of one priority and one moment the last sent comes first."""
    RULE, FAULT = "ORDER BY priority DESC, timestamp, number", "ORDER BY priority DESC, timestamp, number DESC"
    assert RULE in route._READY and RULE in route._DUE_AGAIN
    route._READY, route._DUE_AGAIN = (text.replace(RULE, FAULT) for text in (route._READY, route._DUE_AGAIN))
    rank = route._rank
    patch(route, _rank=lambda row: (*rank(row)[:2], -row[0]))


@fault("comms.route.22")
class UnsubscribingDoesNothing(CommsBus):
    """Once subscribed, always subscribed."""

    def unsubscribe_from_channel(self, agent_id: str, channel_name: str) -> dict[str, Any]:
        return {}


@fault("comms.route.47")
def waits_for_a_write():
    """A reader that waits looks again only when somebody has written: time alone gives it nothing."""
    wait_for = Store.wait_for

    def after_a_write(store: Store, look: Callable[[], Any], wait_s: float) -> Any:
        seen: int | None = None

        def looks() -> Any:
            nonlocal seen
            before, seen = seen, store.version()
            return None if seen == before else look()

        return wait_for(store, looks, wait_s) or []

    patch(Store, wait_for=after_a_write)


@fault("comms.route.17", "comms.route.18")
class WaitsItsWholeTime(CommsBus):
    """A reader looks when its time is over, and not before."""

    def receive_messages(self, *args: Any, timeout_seconds: Any = None, **kwargs: Any) -> dict[str, Any]:
        time.sleep(timeout_seconds or 0)
        return super().receive_messages(*args, **kwargs)
