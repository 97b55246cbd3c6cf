"""Faults of topics, route."""

from typing import Any

from plant import fault, patch, reword

from refbus.kernel.errors import InvalidArgument, TopicClosed, TopicNotFound
from refbus.kernel.rules import sync as rules
from refbus.topics import cursor, log, route
from refbus.topics.bus import TopicsBus

CONTROL = "route.create"


@fault("topics.route.05", control="route.reuse")
class ATopicNeedsAName(TopicsBus):
    """A topic without a name is refused."""

    def topic_create(self, name: Any = None, **kwargs: Any) -> dict[str, Any]:
        if name is None:
            raise InvalidArgument("name is missing")
        return super().topic_create(name, **kwargs)


@fault("topics.route.03")
class AlwaysReuses(TopicsBus):
    """A topic is reused also where a new one was asked for."""

    def topic_create(self, *args: Any, mode: str = "reuse", **kwargs: Any) -> dict[str, Any]:
        return super().topic_create(*args, **kwargs)


@fault("topics.route.19", "topics.lease.05", item="corpus:83084+tokens_among_blanks")
class AnythingIsAName(TopicsBus):
    """Arguments that are no text become one."""

    def topic_create(self, name: Any = None, **kwargs: Any) -> dict[str, Any]:
        return super().topic_create(None if name is None else str(name), **kwargs)

    def topic_resolve(self, name: Any, **kwargs: Any) -> dict[str, Any]:
        return super().topic_resolve(str(name), **kwargs)

    def topic_close(self, topic_id: Any, **kwargs: Any) -> dict[str, Any]:
        return super().topic_close(str(topic_id), **kwargs)

    def topic_join(self, agent_name: Any, **kwargs: Any) -> dict[str, Any]:
        return super().topic_join(str(agent_name), **kwargs)


@fault("topics.route.15")
def closed_topics_are_not_read():
    """A closed topic is closed for its readers too."""
    standing = cursor.standing

    def open_only(tx: Any, reader: Any) -> cursor.Standing:
        place = standing(tx, reader)
        if place.lane.status == "closed":
            raise TopicClosed("the topic is closed")
        return place

    patch(cursor, standing=open_only)


@fault("topics.route.18", "topics.route.11")
def closed_topics_are_reused():
    """A name leads to its newest topic, however that stands."""
    reword(route, "_NEWEST", "status = ?", "? <> ''")


@fault("topics.route.14")
def closed_topics_take_messages():
    """A closed topic accepts messages."""
    send = rules.send
    patch(rules, send=lambda is_same, _is_open: send(is_same, True))


@fault("topics.route.16")
class ClosedWithoutAReason(TopicsBus):
    """The reason for closing a topic is not kept."""

    def topic_close(self, topic_id: str, reason: str | None = None) -> dict[str, Any]:
        return super().topic_close(topic_id) | {"close_reason": reason}


@fault("topics.route.13", "topics.route.14", "topics.route.16", "topics.route.18", "topics.route.20")
class ClosingChangesNothing(TopicsBus):
    """topic_close answers and changes nothing."""

    def topic_close(self, topic_id: str, reason: str | None = None) -> dict[str, Any]:
        return {
            "topic_id": topic_id,
            "status": "closed",
            "closed_at": self.store.clock.now_us() / 1_000_000,
            "close_reason": reason,
        }


@fault("topics.route.17", item="corpus:sent_again_before_it_was_sent")
class ClosingTwiceIsAnError(TopicsBus):
    """A second close is TOPIC_CLOSED."""

    def topic_close(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        reply = super().topic_close(*args, **kwargs)
        if "warnings" in reply:
            raise TopicClosed("the topic is closed already")
        return reply


@fault("topics.route.10", item="corpus:look_alike_names")
def finds_by_the_beginning():
    """A name leads to any topic whose name begins so."""
    reword(route, "_NEWEST", "name = ?", "name LIKE ? || '%'")


@fault("topics.route.07")
def lanes_run_together():
    """A reader receives the messages of all topics."""
    reword(log, "_UNREAD", "topic_id = :topic", ":topic <> ''")


@fault("topics.route.08", "topics.route.09", item="corpus:names_that_the_bus_made")
class ListsAsItStores(TopicsBus):
    """topic_list shows all topics, in the order in which they were made."""

    def topic_list(self, status: str = "all") -> dict[str, Any]:
        return {"topics": super().topic_list(status)["topics"][::-1]}


@fault("topics.route.21")
class ListsWhateverIsAsked(TopicsBus):
    """topic_list by an unknown status lists nothing."""

    def topic_list(self, status: str = "open") -> Any:
        try:
            return super().topic_list(status)
        except InvalidArgument:
            return {"topics": []}


@fault("topics.route.04")
class LooksThenCreates(TopicsBus):
    """topic_create looks for the name in one transaction and makes the topic in another."""

    def topic_create(self, name: Any = None, metadata: Any = None, mode: str = "reuse") -> dict[str, Any]:
        if mode == "reuse" and name is not None:
            try:
                return self.topic_resolve(name)
            except TopicNotFound:
                pass
        return super().topic_create(name, metadata, "new")


@fault("topics.route.01", control="route.reuse")
class NamesBecomeLowerCase(TopicsBus):
    """A topic is made under its name in lower case."""

    def topic_create(self, name: Any = None, **kwargs: Any) -> dict[str, Any]:
        return super().topic_create(name and name.lower(), **kwargs)


@fault("topics.route.20")
def remembers_how_topics_stand():
    """A session remembers how a topic stood when it joined."""
    remembered: dict[str, str] = {}
    standing = cursor.standing

    def as_remembered(tx: Any, reader: Any) -> cursor.Standing:
        place = standing(tx, reader)
        return place._replace(lane=place.lane._replace(status=remembered[reader.topic_id]))

    patch(cursor, standing=as_remembered)

    class Faulty(TopicsBus):
        def topic_join(self, *args: Any, **kwargs: Any) -> Any:
            reply = super().topic_join(*args, **kwargs)
            remembered[reply["topic_id"]] = reply["status"]
            return reply

        def topic_close(self, topic_id: str, reason: str | None = None) -> Any:
            remembered[topic_id] = "closed"
            return super().topic_close(topic_id, reason)

    return Faulty


@fault("topics.route.02", "topics.route.11")
def the_oldest_of_a_name():
    """The oldest of several topics of one name is found."""
    reword(route, "_NEWEST", "DESC", "ASC")


@fault("topics.route.06", item="corpus:81088")
class TopicMetadataIsDropped(TopicsBus):
    """A topic's metadata is not stored."""

    def topic_create(self, *args: Any, metadata: Any = None, **kwargs: Any) -> dict[str, Any]:
        return super().topic_create(*args, **kwargs)


@fault("topics.route.12", "topics.lease.06", item="corpus:83107+names_that_the_bus_made")
def what_is_missing_is_invalid():
    """A topic that does not exist is INVALID_ARGUMENT."""
    patch(TopicNotFound, code="INVALID_ARGUMENT")
