"""Programs for `topics`: three servers, two or three topics, few names, so that calls meet.

The steps that matter now are drawn from the model's state. A step that was drawn for an edge says so in a tag; `EDGES`
lists them all, and the corpus must hold each.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from busproof.bus.hand_topics import TopicsHand
from busproof.contract.topics import CONTRACT
from busproof.oracle.models.spec import Free, plain
from busproof.oracle.models.topics import Topic, TopicsModel
from busproof.play.explore.drawing import Drawing
from busproof.play.explore.orders import Called
from busproof.play.explore.script import Step, call, changed, copied
from busproof.play.explore.stage import Specification
from busproof.play.explore.vary import LOOK_ALIKE

SERVERS = 3
MOST = {field: int(bound.high) for field, bound in CONTRACT.bound_of.items()}
WIDE = ("n", "\u00e9", "\u6f22", "\U0001f600")  # of one to four bytes: a limit counts characters
NAMES = (
    *("red", "Red", "RED", "red fox", "r\u00e9d", "re\u0301d", "r%d", "r_d", "0", "null", "'x"),
    *(char * MOST["agent_name"] for char in WIDE),
)
TOPIC_NAMES = (
    *("lane", "Lane", "lane ", "l%ne", "caf\u00e9", "cafe\u0301", "0"),
    *(char * MOST["name"] for char in WIDE),
)
REASONS = ("done", "two\nlines", "0", " ", *(char * MOST["name"] for char in WIDE), "r" * (MOST["name"] + 1))
WORDS = ("alpha", "Beta", "gamma7", "delta", "AND", "OR", "NOT", "NEAR", "42", "x", "7")
WIDE_WORDS = (
    *("\u0437\u0438\u043c\u0430", "\u6f22\u5b57", "\U00020000\U00020001"),
    *("stra\u00dfe", "\ufb01sch", "\u0130zmir", "\u03c3\u03bf\u03c6\u03bf\u03c2"),  # others, or longer, in another case
)
GAPS = (*(" ",) * 6, "\n", "\t", ", ", "\n\n", " - ", "  ")
ODD_BODIES = (" ", "\n", "0", "null", "false", "{}", "[]", "\x00", "\x1b[0m", "\u2028", "'", "%s", "\u00e9", "e\u0301")
QUERIES = ("alpha*", 'al"pha', "body:alpha", "(alpha", "NOSUCHWORD", "alp", "alpha\tBeta", "alpha-Beta")
BAD_LINES: tuple[Any, ...] = ("", "a\nb", "\x1b[0m", "\x7f", 5, True, ["t"], {})
JUNK: tuple[Any, ...] = (True, -1, 1.5, "", "x", [], {}, "7", [1], 2**63)
METADATA: tuple[Any, ...] = (
    None,
    {},
    {"n": 0},
    {"n": False},
    {"n": 1},
    {"n": True},
    {"n": "1"},
    {"n": None},
    {"a": 1, "b": [1, {"c": "", "d": {"e": 1, "f": 2}}]},
    {"": "\u00e9\U0001f600"},
    {"n": 2**53 + 1},
    {"n": 0.1 + 0.2},
    {"n": 1.0},
    {"n": []},
    {"n": {}},
    {"n": "\u00e9"},
    {"n": "e\u0301"},
    {"client_message_id": "k", "message_type": "answer", "reply_to": "0123456789"},  # called as the fields beside it
    {"text": "n" * 70_000},
)
STRANGE_FIELDS: tuple[tuple[str, Any], ...] = (  # of an item; all but the first are the bus's to set
    *(("no_such_field", 1), ("sender", "red"), ("seq", 1), ("message_id", "0123456789"), ("created_at", 1.5)),
    *(("topic_id", "0123456789"), ("metadata_json", "{}"), ("duplicate", True)),
)
TYPES = (None, "message", "question", "answer", " question ", "T", *(char * MOST["message_type"] for char in WIDE))
KEYS = ("k", "K", " k", "k1", "caf\u00e9", "cafe\u0301", "0", *(char * MOST["client_message_id"] for char in WIDE))
AGES_S = (-60.0, 150.25, 179.5, 299.0, 700.0, 100_000.0)  # below 0: in the future, if the clock was set back since
STRANGER_S = 1_768_053_600.25  # the time of a stranger's acts, by its own clock
WINDOWS_S = (None, 1, 180, 300, 600, 90_000, 10**9)
PEERS = (1, 1, 2, 3, 200, 2**31)  # that presence may be asked for
VOLUME, VOLUMES = 21, 0.0005  # syncs of a whole outbox, more messages than any page of a reader; and how often

EDGES = (
    *("not joined", "joined elsewhere", "take-over", "own name again", "name in use", "cut token", "upper case token"),
    *("blank around the name", "both id and name", "neither id nor name", "name too long", "closed topic"),
    *("closed by name", "allow_closed", "unknown topic", "cut id", "upper case id", "reuse", "new"),
    *("a name that the bus made", "no name", "closed is not reused", "close again", "retry", "retry by another"),
    *("retry with other content", "retry on another topic", "retry after close", "twice in an outbox"),
    *("look-alike metadata", "bad item last", "reply", "reply to another topic", "reply to nothing", "50 items"),
    *("51 items", "largest body", "body too large", "largest type", "type too long", "largest key", "key too long"),
    *("largest name", "outbox as text", "one object", "unknown field", "no body", "max_items 1", "max_items 20"),
    *("max_items 21", "max_items 0", "include_self", "ack newest", "ack newest + 1", "ack of sent", "ack backwards"),
    *("ack 0", "ack -1", "ack with auto_advance", "reset to 0", "reset to newest", "reset to newest + 1"),
    *("reset by default", "junk", "unknown argument", "restart", "race", "wait", "wait for others", "wait in vain"),
    *("silent", "window", "limit 1", "search", "query syntax", "wait after sending", "wait, and a close"),
    *("wait, and a take-over", "a stranger sends", "a stranger joins", "search by fts", "search by hybrid"),
    *("search by semantic", "search in a topic", "with content", "empty query", "old session reads"),
    *("old session sends", "more than 20", "empty outbox", "null in an item", "twice, with other content"),
    *("retry as another reply", "ack in the middle", "reset to the middle", "token for a free name"),
    *("blank around the token", "token of another topic", "odd body", "blank around a name in use"),
    *("asked for as it was sent", "in another case", "topic name too long", "volume", "a name for an id"),
    *("an id for a name", "wait after a retry", "the last outbox again", "own news behind it", "wait for one's own"),
    *("wait for a stranger", "wait for more than it takes", "a stranger's key", "limit 2"),
)


class TopicsGenerator(Drawing):
    """Draws the steps of one program."""

    def __init__(self, rng: random.Random, features: frozenset[str]) -> None:
        super().__init__(rng, features)
        self.names = rng.sample(rng.choice((NAMES, [name for name in LOOK_ALIKE if name == name.strip()])), 3)
        self.topic_names = rng.sample(rng.choice((TOPIC_NAMES, LOOK_ALIKE)), 2)
        self.keys = rng.sample(KEYS, 2)
        self.said: dict[tuple[int, Any], list[Any]] = {}  # the last outbox of a session on a topic, stored or refused

    def start(self) -> Iterator[Step]:
        """Servers on one database, a topic, and agents on it."""
        for at in range(SERVERS):
            yield Step("open", at)
        yield call(0, "topic_create", name=self.topic_names[0])
        for at in range(SERVERS):
            yield call(at, "topic_join", agent_name=self.names[at], name=self.topic_names[0])

    def end(self) -> Iterator[Step]:
        """A last look at everything."""
        yield call(0, "topic_list", status="all")
        yield call("hand", "tables")

    def draw(self, model: Any, now_ms: int) -> Step:
        """The next step."""
        self.model: TopicsModel = model
        self.tags = []
        what = self.r.random()
        if what < 0.02:
            return Step("restart", self._server(), params={"kill": True}, tags=("restart",))
        if what < 0.06:
            return self._race()
        if what < 0.07:
            return self._wait()
        if what < 0.10 and any(topic.cursors for topic in self.model.topics):
            return self._silence()
        if what < 0.12 and (there := [topic for topic in self.model.topics if topic.status == "open"]):
            topic = there[0] if self.r.random() < 0.6 else self.r.choice(there)
            return self._stranger_joins(topic) if self.r.random() < 0.3 else self._stranger_sends(topic)
        if what < 0.15:
            return call("hand", "tables")
        if what < 0.15 + VOLUMES and (mine := self._mine(at := self._server())):
            return self._volume(self.r.choice(mine), at)
        step = self._call(self._server())
        if self.r.random() < 0.03:
            self._spoil(step)
        return step

    # -- existing things

    def _server(self) -> int:
        return self.r.randrange(SERVERS)

    def _topic(self) -> Topic | None:
        """Mostly the first, so that calls meet."""
        topics = self.model.topics
        return None if not topics else topics[0] if self.r.random() < 0.6 else self.r.choice(topics)

    def _topic_id(self, topic: Topic | None) -> Any:
        if topic is None or self.r.random() < 0.02:
            return self._tag("unknown topic", "0123456789")
        if self.r.random() < 0.02:
            return self._tag("a name for an id", topic.name)
        if self.r.random() < 0.03:
            how = self.r.choice(("cut", "upper"))
            return changed(topic.topic_id, how=self._tag(f"{'cut' if how == 'cut' else 'upper case'} id", how))
        return topic.topic_id

    def _mine(self, at: int) -> list[Topic]:
        """Topics on which the session has joined, held or lost."""
        return [topic for topic in self.model.topics if (at, plain(topic.topic_id)) in self.model.joined]

    def _reading(self, at: int) -> Topic | None:
        """Mostly one that the session has joined."""
        mine = self._mine(at)
        if mine and self.r.random() < 0.93:
            topic = self.r.choice(mine)
            name, claim = self.model.joined[at, plain(topic.topic_id)]
            if topic.names[name].claim != claim:
                self._tag("old session reads")
            return topic
        self._tag("joined elsewhere" if mine else "not joined")
        return self._topic()

    # -- steps

    def _call(self, at: int) -> Step:
        draws = (
            (self._sync, 50),
            (self._join, 14),
            (self._create, 6),
            (self._reset, 5),
            (self._close, 4),
            (self._search, 6),
            (self._presence, 5),
            (self._list, 3),
            (self._resolve, 4),
            (self._ping, 1),
        )
        draw = self.r.choices([option for option, _ in draws], [weight for _, weight in draws])[0]
        return draw(at)

    def _step(self, at: int, method: str, params: dict[str, Any]) -> Step:
        return Step("call", at, method, params, tags=tuple(self.tags))

    def _race(self) -> Step:
        """Two sessions at the lock at once; a call that would wait may not."""
        self.tags = ["race"]
        draws: tuple[Callable[[int], Step], ...] = (*(self._sync,) * 3, *(self._join,) * 2, self._create, self._close)
        draws = (*draws, self._reset, self._search, self._presence)
        first, other = self.r.sample(range(SERVERS), 2)
        draw = self.r.choice(draws)
        again = draw if self.r.random() < 0.6 else self.r.choice(draws)
        return Step("race", calls=[draw(first), again(other)], tags=tuple(self.tags))

    def _wait(self) -> Step:
        """A sync that waits on a topic, and a call of another session, or a stranger, that may end its wait."""
        waiter, other = self.r.sample(range(SERVERS), 2)
        both = [topic for topic in self._mine(waiter) if topic in self._mine(other) and topic.status == "open"]
        if not both:
            return self._step(waiter, *self._joining(waiter, self._topic()))
        topic = self.r.choice(both)
        name, _ = self.model.joined[waiter, plain(topic.topic_id)]
        waiting = {"topic_id": topic.topic_id, "wait_seconds": 3, "auto_advance": self.r.random() < 0.7}
        mine = [message for message in topic.messages if message.sender == name and message.client_message_id]
        if mine and self.r.random() < 0.3:
            waiting["outbox"] = [self._again(self.r.choice(mine), topic)]
            self._tag("wait after a retry")
        elif self.r.random() < 0.4:
            waiting["outbox"] = self._tag("wait after sending", [{"content_markdown": self._body()}])
        if self.r.random() < 0.3:
            waiting["include_self"] = self.r.random() < 0.7
        if not waiting["auto_advance"] and self.r.random() < 0.5:
            waiting["ack_through"] = len(topic.messages)
        ending = [self._sends(other, topic)]
        what = self.r.random()
        if what < 0.15:
            waiting["wait_seconds"] = 1
            ending = [call(other, "topic_close", topic_id=topic.topic_id)]
            self._tag("wait, and a close")
        elif what < 0.35:
            taken = {"topic_id": topic.topic_id, "agent_name": name, "reclaim_token": topic.names[name].token}
            ending = [call(other, "topic_join", **taken), self._stranger_sends(topic)]
            self._tag("wait, and a take-over")
        elif what < 0.45:  # no news, unless it asks for its own
            waiting["wait_seconds"] = 1
            ending = [self._stranger_sends(topic, self._tag("wait for one's own", name))]
        elif what < 0.6:
            ending = [self._stranger_sends(topic, self._tag("wait for a stranger", "stranger"))]
            if self.r.random() < 0.4:
                ending.append(self._stranger_sends(topic, self._tag("own news behind it", name)))
        elif what < 0.75:
            waiting["max_items"] = self._tag("wait for more than it takes", 1)
            ending = [self._sends(other, topic, 3)]
        else:
            self._tag("wait for others")
        tags = ("wait", *self.tags)
        return Step("wait", calls=[call(waiter, "sync", **waiting), *ending], tags=tags)

    def _sends(self, at: int, topic: Topic, count: int = 1) -> Step:
        outbox = [{"content_markdown": self._body()} for _ in range(count)]
        return call(at, "sync", topic_id=topic.topic_id, wait_seconds=0, outbox=outbox)

    def _volume(self, topic: Topic, at: int) -> Step:
        """More messages than a reader, or an index, takes at once."""
        outbox = {"$many": MOST["outbox"], "of": {"content_markdown": f"# {self._body()}"}}
        sending = call(at, "sync", topic_id=topic.topic_id, wait_seconds=0, outbox=outbox)
        return Step("many", calls=[sending], times=VOLUME, tags=("volume",))

    def _stranger_joins(self, topic: Topic) -> Step:
        """A program that knows only the seed's tables reserves a name, if one is free."""
        free = [name for name in self.names if name not in topic.names]
        if not free:
            return self._stranger_sends(topic)
        held = {"reclaim_token": f"{self.serial:032x}", "created_at": STRANGER_S, "last_claimed_at": STRANGER_S}
        params = {"topic_id": topic.topic_id, "agent_name": free[0], **held}
        return Step("call", "hand", "stranger_joins", params, tags=("a stranger joins",))

    def _stranger_sends(self, topic: Topic, sender: str = "") -> Step:
        """It sends, under a name of its own or of one that is here; perhaps with a key, which a retry then meets."""
        fields: dict[str, Any] = {"sender": sender or self.r.choice(("stranger", *self.names))}
        keys = {message.client_message_id for message in topic.messages if message.sender == fields["sender"]}
        if (free := [key for key in self.keys if key.strip() not in keys]) and self.r.random() < 0.3:
            fields["client_message_id"] = self._tag("a stranger's key", self.r.choice(free).strip())
        fields["content_markdown"] = self._body()
        params = {"message_id": f"{self.serial:010x}", "topic_id": topic.topic_id, **fields, "created_at": STRANGER_S}
        return Step("call", "hand", "stranger_sends", params, tags=("a stranger sends", *self.tags))

    def _silence(self) -> Step:
        topic = self.r.choice([topic for topic in self.model.topics if topic.cursors])
        name = self.r.choice(sorted(topic.names.keys() | topic.cursors.keys()))
        params = {"topic_id": topic.topic_id, "agent_name": name, "seconds": self.r.choice(AGES_S)}
        return Step("call", "hand", "age_cursor", params, tags=("silent",))

    def _spoil(self, step: Step) -> None:
        """One defect; the rest is as it was."""
        if self.r.random() < 0.2 or not step.params:
            step.params["no_such"] = 1
            step.tags = (*step.tags, "unknown argument")
            return
        name = self.r.choice(sorted(step.params))
        junk = [*JUNK, *BAD_LINES]
        if name == "wait_seconds":
            junk.remove(2**63)  # a bus may take it, and nobody would see the end of that wait
        step.params[name] = self.r.choice(junk)
        if name == "outbox" and type(step.params[name]) in (str, list, dict):
            step.params[name] = 5
        step.tags = ("junk",)

    # -- topics

    def _create(self, at: int) -> Step:
        params: dict[str, Any] = {}
        if self.r.random() < 0.9:
            params["name"] = self._name(self.topic_names)
            newest = [topic for topic in self.model.topics if plain(topic.name) == plain(params["name"])]
            if newest and newest[-1].status == "closed":
                self._tag("closed is not reused")
        else:
            self._tag("no name")
        if self.r.random() < 0.4:
            params["mode"] = self.r.choice((self._tag("reuse", "reuse"), self._tag("new", "new")))
        if self.r.random() < 0.3:
            params["metadata"] = self.r.choice(METADATA)
        if self.r.random() < 0.03:
            params["name"] = self._tag("topic name too long", self.r.choice(WIDE) * (MOST["name"] + 1))
        return self._step(at, "topic_create", params)

    def _name(self, names: Sequence[str]) -> Any:
        """One of these, or seldom one that the bus made for a topic without a name, or the id of a topic."""
        if self.model.topics and self.r.random() < 0.03:
            return self._tag("an id for a name", self.r.choice(self.model.topics).topic_id)
        made = [topic.name for topic in self.model.topics if isinstance(topic.name, Free)]
        if made and self.r.random() < 0.15:
            return self._tag("a name that the bus made", self.r.choice(made))
        return self.r.choice(names)

    def _ping(self, at: int) -> Step:
        return self._step(at, "ping", {})

    def _list(self, at: int) -> Step:
        return self._step(
            at, "topic_list", self.r.choice(({}, *({"status": status} for status in ("open", "closed", "all"))))
        )

    def _resolve(self, at: int) -> Step:
        params: dict[str, Any] = {"name": self._name((*self.topic_names, "nosuch"))}
        if self.r.random() < 0.5:
            params["allow_closed"] = self._tag("allow_closed", self.r.random() < 0.8)
        return self._step(at, "topic_resolve", params)

    def _close(self, at: int) -> Step:
        topic = self._topic()
        if topic is not None and (topic.status == "closed" or self.r.random() < 0.5):
            self._tag("close again" if topic.status == "closed" else "closed topic")
        elif self.r.random() < 0.7 and len(self.model.topics) > 1:
            topic = self.model.topics[-1]
        params = {"topic_id": self._topic_id(topic)}
        if self.r.random() < 0.4:
            params["reason"] = self.r.choice(REASONS)
        return self._step(at, "topic_close", params)

    # -- names

    def _join(self, at: int) -> Step:
        return self._step(at, *self._joining(at, self._topic()))

    def _joining(self, at: int, topic: Topic | None) -> tuple[str, dict[str, Any]]:
        name = self.r.choice(self.names)
        if len(name) == MOST["agent_name"]:
            self._tag("largest name")
        params: dict[str, Any] = {"agent_name": name}
        elsewhere = [t.names[name].token for t in self.model.topics if t is not topic and name in t.names]
        if topic is None or self.r.random() < 0.3:
            params["name"] = self._name([topic.name if topic else self.topic_names[0]])
            if topic and topic.status == "closed":
                self._tag("closed by name")
        else:
            params["topic_id"] = self._topic_id(topic)
        if self.r.random() < 0.3:
            params["allow_closed"] = self._tag("allow_closed", self.r.random() < 0.8)
        held = topic.names.get(name) if topic else None
        if held is None:
            if self.r.random() < 0.1:
                params["reclaim_token"] = self._tag("token for a free name", self.r.choice((*elsewhere, "0" * 32)))
            return "topic_join", self._odd_join(params)
        if self.r.random() < 0.05:
            params["agent_name"] = self._tag("blank around a name in use", f" {name} ")
        what = self.r.random()
        if what < 0.5:
            params["reclaim_token"] = self._tag("take-over", held.token)
        elif what < 0.55:
            params["reclaim_token"] = changed(held.token, how=self._tag("blank around the token", "blank"))
        elif what < 0.65:
            how = self._tag("cut token", "cut") if self.r.random() < 0.5 else self._tag("upper case token", "upper")
            params["reclaim_token"] = changed(held.token, how=how)
        elif what < 0.75:
            others = [owner.token for owner in (topic.names.values() if topic else ()) if owner is not held]
            if elsewhere and self.r.random() < 0.5:
                others = self._tag("token of another topic", elsewhere)
            params["reclaim_token"] = self.r.choice(others) if others else "0" * 32
        else:
            is_mine = topic and self.model.joined.get((at, plain(topic.topic_id))) == (name, held.claim)
            self._tag("own name again" if is_mine else "name in use")
        return "topic_join", params

    def _odd_join(self, params: dict[str, Any]) -> dict[str, Any]:
        what = self.r.random()
        if what < 0.05:
            params["agent_name"] = self._tag("name too long", self.r.choice(WIDE) * (MOST["agent_name"] + 1))
        elif what < 0.10:
            params["agent_name"] = self._tag("blank around the name", f" {params['agent_name']} ")
        elif what < 0.14:
            params |= {"topic_id": "0123456789", "name": self._tag("both id and name", "lane")}
        elif what < 0.18:
            self._tag("neither id nor name")
            params = {"agent_name": params["agent_name"]}
        return params

    # -- sync

    def _sync(self, at: int) -> Step:
        topic = self._reading(at)
        params: dict[str, Any] = {"topic_id": self._topic_id(topic), "wait_seconds": 0}
        if self.r.random() < 0.55:
            if "old session reads" in self.tags:
                self._tag("old session sends")
            params["outbox"] = self._outbox(topic)
        if topic is not None and type(params.get("outbox")) is list:
            place = at, plain(topic.topic_id)
            before, self.said[place] = self.said.get(place), params["outbox"]
            if before is not None and self.r.random() < 0.08:
                params["outbox"] = self._tag("the last outbox again", copied(before))
        if self.r.random() < 0.25:
            most = self.r.choice((1, 2, 3, MOST["max_items"] - 1, MOST["max_items"], MOST["max_items"] + 1, 0))
            params["max_items"] = self._tag(f"max_items {most}", most)
        if self.r.random() < 0.2:
            params["include_self"] = self._tag("include_self", self.r.random() < 0.8)
        if self.r.random() < 0.4:
            params["auto_advance"] = False
            if topic is not None and self.r.random() < 0.7:
                params["ack_through"] = self._ack(topic, params)
        elif self.r.random() < 0.02:
            params["ack_through"] = self._tag("ack with auto_advance", 0)
        if self.r.random() < 0.01:
            params["wait_seconds"] = self._tag("wait in vain", 1)
        return self._step(at, "sync", params)

    def _ack(self, topic: Topic, params: dict[str, Any]) -> int:
        newest = len(topic.messages)
        sent = params.get("outbox")
        choices = [("ack newest", newest), ("ack newest + 1", newest + 1), ("ack 0", 0), ("ack -1", -1)]
        choices += [("ack backwards", max(0, newest - 2))] * 3 + [("ack newest", newest)] * 3
        choices += [("ack in the middle", self.r.randint(0, newest))] * 3
        if isinstance(sent, list) and sent:
            choices += [("ack of sent", newest + len(sent)), ("ack of sent", newest + 1)]
        tag, value = self.r.choice(choices)
        return int(self._tag(tag, value))

    def _outbox(self, topic: Topic | None) -> Any:
        what = self.r.random()
        if what < 0.02:
            return self._many(self._tag("50 items", MOST["outbox"]))
        if what < 0.03:
            return self._many(self._tag("51 items", MOST["outbox"] + 1))
        if what < 0.06:
            return self._many(self._tag("more than 20", 21))
        if what < 0.08:
            return self._tag("empty outbox", self.r.choice(([], [], None, "[]")))
        items = [self._item(topic) for _ in range(self.r.choice((1, 1, 1, 2, 3)))]
        what = self.r.random()
        if what < 0.09:
            items.append(self._tag("bad item last", self.r.choice((5, {}, {"content_markdown": ""}, None))))
        elif what < 0.15 and "client_message_id" in items[0]:
            items.append(self._tag("twice in an outbox", dict(items[0])))
            if self.r.random() < 0.3:
                items[-1]["content_markdown"] = self._tag("twice, with other content", self._body())
        elif what < 0.18 and _is_plain(items):
            return self._tag("outbox as text", json.dumps(items))
        elif what < 0.21:
            return self._tag("one object", items[0])
        return items

    def _many(self, count: int) -> list[dict[str, Any]]:
        return [{"content_markdown": f"{number} {self._body()}"} for number in range(count)]

    def _body(self) -> str:
        """Words that are searched for, with a number of its own; they stand at both ends of a long one."""
        self.serial += 1
        what = self.r.random()
        if what < 0.02:
            return str(self._tag("odd body", self.r.choice(ODD_BODIES)))
        words = self.r.choices((*WORDS, *WIDE_WORDS) if what < 0.3 else WORDS, k=3)
        text = self.r.choice(GAPS).join([*words, f"w{self.serial}"])
        if what > 0.99:
            text = f"{text} {self.r.choice(WIDE) * self.r.choice((1_200, 5_000))} {self.r.choice(WIDE_WORDS)}"
        return text

    def _item(self, topic: Topic | None) -> dict[str, Any]:
        old = [message for message in topic.messages if message.client_message_id] if topic else []
        if old and self.r.random() < 0.3:
            return self._again(self.r.choice(old), topic)
        item: dict[str, Any] = {"content_markdown": self._body()}
        if self.r.random() < 0.3:
            item["message_type"] = self.r.choice(TYPES)
        if self.r.random() < 0.3:
            item["client_message_id"] = key = self.r.choice(self.keys)
            holders = [t for t in self.model.topics for message in t.messages if message.client_message_id == key]
            if holders:
                self._tag("retry by another" if topic in holders else "retry on another topic")
        if self.r.random() < 0.25:
            item["metadata"] = self.r.choice(METADATA)
        if topic and self.r.random() < 0.2:
            item["reply_to"] = self._reply(topic)
        if self.r.random() < 0.03:
            absent = [
                name for name in ("message_type", "reply_to", "metadata", "client_message_id") if name not in item
            ]
            item.update(dict.fromkeys(absent, self._tag("null in an item")))
        self._oddity(item)
        return item

    def _again(self, old: Any, topic: Topic | None) -> dict[str, Any]:
        """A stored message once more, unchanged or nearly."""
        names = ("content_markdown", "message_type", "metadata", "client_message_id")
        item = {name: getattr(old, name) for name in names}
        if old.reply_to is not None:
            item["reply_to"] = old.reply_to
        self._tag("retry after close" if topic and topic.status == "closed" else "retry")
        what = self.r.random()
        if what < 0.2:
            item["content_markdown"] = self._tag("retry with other content", f"{old.content_markdown} ")
        elif what < 0.4:
            look_alikes = (*METADATA, *[_turned(old.metadata)] * len(METADATA))
            item["metadata"] = self._tag("look-alike metadata", self.r.choice(look_alikes))
        elif what < 0.5:
            item["message_type"] = self._tag("retry with other content", "other")
        elif what < 0.6 and topic is not None:
            others = [message.message_id for message in topic.messages if message is not old]
            item["reply_to"] = self._tag("retry as another reply", self.r.choice((*others[-5:], None)))
        return item

    def _reply(self, topic: Topic) -> Any:
        others = [other for other in self.model.topics if other is not topic and other.messages]
        if others and self.r.random() < 0.15:
            return self._tag("reply to another topic", self.r.choice(others).messages[-1].message_id)
        if not topic.messages or self.r.random() < 0.1:
            return self._tag("reply to nothing", "0123456789")
        return self._tag("reply", self.r.choice(topic.messages).message_id)

    def _oddity(self, item: dict[str, Any]) -> None:
        char, ends = self.r.choice(WIDE), [self.r.choice((*WORDS[:4], *WIDE_WORDS)) for _ in "ab"]
        large = f"{ends[0]} {char * (MOST['content_markdown'] - sum(map(len, ends)) - 2)} {ends[1]}"
        odd: dict[str, tuple[str, Any]] = {
            "largest body": ("content_markdown", large),
            "body too large": ("content_markdown", large + char),
            "largest type": ("message_type", char * MOST["message_type"]),
            "type too long": ("message_type", char * (MOST["message_type"] + 1)),
            "largest key": ("client_message_id", char * MOST["client_message_id"]),
            "key too long": ("client_message_id", char * (MOST["client_message_id"] + 1)),
            "unknown field": self.r.choice(STRANGE_FIELDS),
            "no body": ("content_markdown", None),
        }
        if self.r.random() < 0.08:
            tag = self.r.choice(sorted(odd))
            name, value = odd[tag]
            item[name] = self._tag(tag, value)

    def _reset(self, at: int) -> Step:
        topic = self._reading(at)
        params: dict[str, Any] = {"topic_id": self._topic_id(topic)}
        newest = len(topic.messages) if topic else 0
        choices = {
            "reset to 0": 0,
            "reset to newest": newest,
            "reset to the middle": self.r.randint(0, newest),
            "reset to newest + 1": newest + 1,
            "reset by default": None,
        }
        tag = self.r.choice(sorted(choices))
        if choices[tag] is not None:
            params["last_seq"] = choices[tag]
        self._tag(tag)
        return self._step(at, "cursor_reset", params)

    # -- looking

    def _presence(self, at: int) -> Step:
        params: dict[str, Any] = {"topic_id": self._topic_id(self._topic())}
        window = self.r.choice(WINDOWS_S)
        if window is not None:
            params["window_seconds"] = self._tag("window", window)
        if self.r.random() < 0.2:
            most = self.r.choice(PEERS)
            params["limit"] = self._tag(f"limit {most}", most)
        return self._step(at, "topic_presence", params)

    def _search(self, at: int) -> Step:
        query = self.r.choice(WORDS[:4]) if self.r.random() < 0.7 else self._tag("query syntax", self.r.choice(QUERIES))
        if self.r.random() < 0.2:  # several words, of which one may begin another
            any_of = (*WORDS, *WIDE_WORDS, query, query[:3])
            query = self.r.choice(GAPS).join(self.r.choices(any_of, k=self.r.choice((2, 2, 3, 40))))
        bodies = [message.content_markdown for topic in self.model.topics for message in topic.messages]
        usual = [body for body in bodies if body not in ODD_BODIES]
        if usual and (how := self.r.random()) < 0.35:
            body = self.r.choice(usual)
            is_whole = how < 0.1 or not (words := body.split())
            query = body if is_whole else " ".join(self.r.sample(words, min(len(words), self.r.choice((1, 2)))))
            query = self._tag("asked for as it was sent", query)[: MOST["name"] + 1]
        elif self.r.random() < 0.05:
            query = self._tag("in another case", query.swapcase())
        if self.r.random() < 0.05:
            query = self._tag("empty query", self.r.choice(("  ", "")))
        params: dict[str, Any] = {"query": self._tag("search", query)}
        mode = self.r.choices(("fts", "hybrid", "semantic", None), (5, 2, 2, 1))[0]
        if mode is not None:
            params["mode"] = self._tag(f"search by {mode}", mode)
        if self.model.topics and self.r.random() < 0.4:
            params["topic_id"] = self._tag("search in a topic", self._topic_id(self._topic()))
        if self.r.random() < 0.3:
            params["include_content"] = self._tag("with content", True) if self.r.random() < 0.8 else False
        if self.r.random() < 0.3:
            params["limit"] = self.r.choice((1, 2, 3, 20, 21, 999, 1000))
        if self.r.random() < 0.1:
            params["model"] = "none"
        return self._step(at, "messages_search", params)


def _turned(value: Any) -> Any:
    """The same JSON value, with the members of its objects in reverse order."""
    if isinstance(value, dict):
        return {name: _turned(value[name]) for name in reversed(value)}
    return [_turned(member) for member in value] if isinstance(value, list) else value


def _is_plain(items: list[dict[str, Any]]) -> bool:
    """Can they be written as JSON text now, without references to the bus's choices?"""
    try:
        json.dumps(items)
    except TypeError:
        return False
    return True


def _things(method: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    topic = params.get("topic_id") or params.get("name")
    if type(topic) is str:
        yield "topic", topic
    yield "store", ""


def _conditions(model: TopicsModel, called: Called) -> Iterator[str]:
    topic = next((t for t in model.topics if plain(t.topic_id) == called.params.get("topic_id")), None)
    named = [t for t in model.topics if plain(t.name) == called.params.get("name")]
    yield from {f"named is {t.status}" for t in named}
    if topic is None:
        return
    yield f"topic is {topic.status}"
    if any(other.names.keys() & topic.names.keys() for other in model.topics if other is not topic):
        yield "a name is here and on another topic"
    if any(not message.content_markdown.isascii() for message in topic.messages[-MOST["max_items"] :]):
        yield "wide texts"
    if any(plain(message.created_at) == STRANGER_S for message in topic.messages):
        yield "a stranger has sent"
    if len(topic.messages) > 1_000:
        yield "a long topic"
    who, outbox = model.joined.get((called.at, plain(topic.topic_id))), called.params.get("outbox")
    if who is not None:
        name, claim = who
        yield "holds its name" if topic.names[name].claim == claim else "was taken over"
        at = topic.cursors[name].last_seq if name in topic.cursors else 0
        others = sum(message.sender != name for message in topic.messages[at:])
        most = called.params.get("max_items") or MOST["max_items"]
        yield "nothing new" if at == len(topic.messages) else "own news" if not others else "news"
        yield "a full answer" if type(most) is int and others >= most else "room in the answer"
        yield "own news between" if 0 < others < len(topic.messages) - at else "one kind of news"
    yield from (f"{name} {value}" for name, value in called.params.items() if type(value) is bool)
    if "ack_through" in called.params:
        yield "acks"
    if isinstance(outbox, list):
        ids = (item.get("client_message_id") for item in outbox if isinstance(item, dict))
        keys = {key for key in ids if isinstance(key, str)}
        yield "sends"
        yield from ("sends again" for message in topic.messages if message.client_message_id in keys)


METHODS = tuple(name for name, method in CONTRACT.methods.items() if method.noun is not None and name != "tools.list")

SPECIFICATION = Specification(
    "topics",
    TopicsModel,
    TopicsHand,
    TopicsGenerator,
    _things,
    EDGES,
    METHODS,
    needs_clock=False,
    conditions=_conditions,
)
