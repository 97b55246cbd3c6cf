"""Programs for `timeline`: three processes, few names that look alike, so that keys meet and almost meet.

The steps that matter now are drawn from the model's state. A step that was drawn for an edge says so in a tag; `EDGES`
lists them all, and the corpus must hold each.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from busproof.bus.hand_timeline import TimelineHand
from busproof.contract.bounds import DAY_S, INT_MAX, LEVELS_MAX
from busproof.contract.timeline import CONTRACT
from busproof.oracle.models.spec import plain
from busproof.oracle.models.timeline import TimelineModel
from busproof.oracle.models.timeline_keys import REPLY_TYPES, VARIANTS, dimensions, filter_subjects, reply_key, subject
from busproof.oracle.models.timeline_record import Message, text_of
from busproof.play.explore.drawing import NOW_MS_LAST, Drawing
from busproof.play.explore.orders import Called
from busproof.play.explore.script import Step, call, copied
from busproof.play.explore.stage import Specification
from busproof.play.explore.vary import VISITOR

BOUND_OF = CONTRACT.bound_of
DIMENSION, SEQUENCE = BOUND_OF["agent"], BOUND_OF["sequence"]
PROCESSES = 3
NAMES = (
    *("main", "Main", "main ", "a.b", "a_b", "a%2Eb", "a-b", "*", ">", "vlinder", "caf\u00e9", "cafe\u0301", "0"),
    *("null", "\x00", "\n", " ", "\U0001f600", "'", "a", "b", "invoke", "req"),
    *("n" * 200, DIMENSION.at()),
)
SERVICES, BACKENDS, OPERATIONS = ("infer", "kv", "infer.ollama"), ("ollama", "Ollama", "s3"), ("chat", "get", "*")
GROUPS = (
    *("g", "G", "g.h", "g_h", "\u00e9", "*", "g ", "b"),  # "b" with a name "a" is "a-b", if they are joined so
    *("g" * 200, DIMENSION.at()),
)
PAYLOADS: tuple[Any, ...] = (
    *(None, False, 0, "", [], {}, True, 1, 1.0, -0.0, "0", {"a": 1, "b": 2}, {"b": 2, "a": 1}, [None]),
    *(2**53 + 1, 2**63, 0.1 + 0.2, {"": {"": []}}, {"a": {}, "b": [{}, []]}, "a\x1f, b"),
    *("\u00e9\u2028\U0001f600\x00", "caf\u00e9", "cafe\u0301"),
    # What an agent calls so is not what the bus calls so.
    {"error": "e", "state": {"a": 1}, "nonce": "n2", "payload": None},
    {"type": "fork", "timeline": "a", "parent": "main", "at": 0, "payload_error": "e"},
)
STATES: tuple[Any, ...] = (
    *(*PAYLOADS, {"10": 1, "9": [{}], "-1": 2}, {"b": 1, "B": 2, "a ": 3, "": 4}),
    *([{"b": 1, "a": 2}], [{"a": 2, "b": 1}], {"b": [{"d": 1, "c": {}}], "a": 1}),
)
BAD_KEYS: tuple[Any, ...] = (None, [], "invoke", {}, {"type": "nothing"}, {"type": ["invoke"]})
BAD_NAMES: tuple[Any, ...] = (None, *DIMENSION.refused)
BAD_SEQUENCES: tuple[Any, ...] = (None, 1.0, *SEQUENCE.refused)
BAD_NUMBERS: tuple[Any, ...] = BOUND_OF["after"].refused
BAD_WAITS: tuple[Any, ...] = (*BAD_NUMBERS, BOUND_OF["wait_ms"].at(plus=1))
BAD_ACK_WAITS: tuple[Any, ...] = (None, *BOUND_OF["ack_wait_ms"].refused)
SEQUENCES = (0, 1, 2, 10, SEQUENCE.at(plus=-1), SEQUENCE.at())
VOLUME, VOLUMES = 1_010, 0.0003  # messages, more than any page or limit of a reader; and how often
DAY_MS = DAY_S * 1000
ACK_WAITS_MS = (30_000, 30_000, 1_000, 1, 2, DAY_MS)
A_YEAR_MS = 365 * DAY_MS
LONG_CHARS = 10_000
LARGE = ("p", "\u00e9", "\x7f", "\U0001f600", '"', "\n")  # characters of one to twelve bytes of JSON text
REQUEST_TYPES = tuple(REPLY_TYPES)
CALLS = {"invoke": "run_agent", "request": "call_service", "delegate": "delegate"}
ASKED_BY = {reply: asks for asks, reply in REPLY_TYPES.items()}

EDGES = (
    *("one dimension differs", "look-alike name", "key of bad shape", "empty dimension", "bad dimension"),
    *("bad sequence", "dimension missing", "dimension too many", "largest sequence", "longest name", "no nonce"),
    *("nonce out of place", "other nonce", "sent again", "sent with other content", "a reply is sent"),
    *("a fork is sent", "look-alike content", "largest payload", "payload too large", "no JSON", "state"),
    *("state of a response", "answered again", "other answer", "answer to nothing", "reply to a reply"),
    *("subject of nothing", "needless escape", "lower-case escape", "token too many", "leading zero"),
    *("filter of a type", "filter of all", "filter with a hole", "group", "other group", "bad filter", "matches"),
    *("matches not", "nothing to fetch", "due - 1 ms", "due", "fetched again", "ack", "ack again", "late ack", "nak"),
    *("late nak", "nak again", "ack of nothing", "fetch of a fork's", "long ago", "clock back", "answered call"),
    *("time out", "late reply", "same call again", "same call, other content", "bad number"),
    *("call on a fork, answered", "call on a fork, unanswered", "call with a nonce", "unknown timeline", "after"),
    *("limit", "of a submission", "unknown submission", "fork at 0", "fork at the end", "fork beyond"),
    *("fork of a fork", "fork below a fork", "fork again", "fork onto what exists", "fork with another point"),
    *("fork of nothing", "head", "old head", "head of nothing", "restart", "race", "wait", "answered while it waits"),
    *("fetched while it waits", "replay", "replay without a complete", "junk", "the parent goes on"),
    *("tampered message", "tampered timeline", "tampered parent", "volume", "taken out", "tampered below a fork"),
    *("opened anew", "opened with a bad option", "deepest value", "too deep", "filter of some"),
    *("filter that nearly fits", "null in a filter", "bad group", "largest state", "near call", "far beyond"),
    *("fork of itself", "fork again, of another submission", "fork of another parent", "last of times"),
    *("answered beside it", "sent beside it", "unknown agent", "look-alike submission", "look-alike nonce"),
    *("left out", "answer fetched while it waits", "given back while it waits", "tampered, with its head"),
)


class TimelineGenerator(Drawing):
    """Draws the steps of one program."""

    def __init__(self, rng: random.Random, features: frozenset[str]) -> None:
        super().__init__(rng, features)
        names = rng.sample(NAMES, 9)
        twin = unicodedata.normalize("NFD", "caf\u00e9")
        self.timelines = [names[0], names[1], rng.choice((names[2], names[0].upper(), twin))]
        self.submissions, self.agents, self.harnesses = names[3:5], names[5:7], [names[7], "cli"]
        self.nonces = ["n1", names[8], names[8] + " "]
        self.heads: list[tuple[str, str]] = []
        self.fetched: list[dict[str, Any]] = []

    def start(self) -> Iterator[Step]:
        """Processes on one store."""
        self.tags = []
        for at in range(PROCESSES):
            yield self._opened(at)
        yield call(0, "send", key=self._fresh("invoke", self.timelines[0]), payload=1)

    def _opened(self, at: int) -> Step:
        return Step("open", at, params={"options": {"ack_wait_ms": self.r.choice(ACK_WAITS_MS)}}, tags=tuple(self.tags))

    def _anew(self) -> Step:
        """A process opens the store again, with other options; a newcomer may be refused, and changes nothing."""
        self._tag("opened anew")
        if self.r.random() < 0.7:
            return self._opened(self._process())
        options = {"ack_wait_ms": self.r.choice(BAD_ACK_WAITS)}
        return Step("open", VISITOR, params={"options": options}, tags=("opened with a bad option",))

    def end(self) -> Iterator[Step]:
        """A last look at everything."""
        yield call(0, "dump")
        yield call(1, "verify")

    def draw(self, model: Any, now_ms: int) -> Step:
        """The next step."""
        self.model: TimelineModel = model
        self.now_ms, self.tags = now_ms, []
        what = self.r.random()
        if what < 0.02:
            return Step("restart", self._process(), params={"kill": self.r.random() < 0.5}, tags=("restart",))
        if what < 0.024:
            return self._anew()
        if what < 0.11:
            return self._clock()
        if what < 0.15:
            return self._race()
        if what < 0.155:
            return self._wait()
        if what < 0.17 and "verify" in self.features and self.model.record:
            return self._tampered()
        if what < 0.17 + VOLUMES:
            return self._volume()
        if what > 0.93 and self.fetched:
            return self._step(self._process(), "fetch", self._again())
        step = self._call(self._process())
        if self.r.random() < 0.03:
            self._spoil(step)
        return step

    # -- existing things

    def _process(self) -> int:
        return self.r.randrange(PROCESSES)

    def _step(self, at: int, method: str, params: dict[str, Any]) -> Step:
        if params.get("payload", 0) is None and self.r.random() < 0.5:
            del params["payload"]
            self._tag("left out")
        return Step("call", at, method, params, tags=tuple(self.tags))

    def _timeline(self) -> str:
        """Mostly an existing one."""
        if self.model.lanes and self.r.random() < 0.8:
            return self.r.choice(list(self.model.lanes))
        return str(self.r.choice(self.timelines))

    def _fresh(self, type_: str, timeline: str) -> dict[str, Any]:
        """A key that may be new."""
        agent, other = self.r.choice(self.agents), self.r.choice(self.agents)
        values = {
            "type": type_,
            "timeline": timeline,
            "submission": self.r.choice(self.submissions),
            "harness": self.r.choice(self.harnesses),
            "runtime": self.r.choice(("local", "local", "far")),
            "agent": agent,
            "service": self.r.choice(SERVICES),
            "backend": self.r.choice(BACKENDS),
            "operation": self.r.choice(OPERATIONS),
            "sequence": self.r.choice(SEQUENCES),
            "caller": agent,
            "target": other,
            "nonce": self.r.choice(self.nonces),
            "agent_name": agent,
        }
        if values["sequence"] == SEQUENCE.at() and type_ == "request":
            self._tag("largest sequence")
        return {name: values[name] for name in ("type", *dimensions(type_))}

    def _asked(self) -> Message | None:
        """A message that asks; mostly a late one."""
        asked = [message for message in self.model.record if message.key["type"] in REPLY_TYPES]
        return self.r.choice(asked[-6:] if self.r.random() < 0.7 else asked) if asked else None

    def _key(self) -> dict[str, Any]:
        """A new key, or one of the record, or one that differs from such a key in one dimension."""
        what = self.r.random()
        if what < 0.4 or not self.model.record:
            return self._fresh(self.r.choice(list(VARIANTS)), self._timeline())
        key = dict(self.r.choice(self.model.record).key)
        return key if what < 0.6 else self._near(key)

    def _near(self, key: dict[str, Any]) -> dict[str, Any]:
        """The key with another value in one dimension."""
        name = self.r.choice(dimensions(key["type"]))
        if name == "sequence":
            return key | {"sequence": self._tag("one dimension differs", self.r.choice(SEQUENCES))}
        twins = self._twins(key[name])
        if twins and self.r.random() < 0.5:
            return key | {name: self._tag("look-alike name", self.r.choice(twins))}
        return key | {name: self._tag("one dimension differs", self.r.choice(NAMES))}

    def _twins(self, name: str) -> list[str]:
        """Names that look like this one, or begin as it does."""
        twins = {name.upper(), name + " ", unicodedata.normalize("NFD", name), name[:-1]} - {name, ""}
        return sorted(twin for twin in twins if DIMENSION.takes(twin))

    def _spoilt(self, key: dict[str, Any]) -> Any:
        """An invalid key, for one reason."""
        what = self.r.random()
        name = self.r.choice(dimensions(key["type"]))
        if what < 0.15:
            return self._tag("key of bad shape", self.r.choice(BAD_KEYS))
        if what < 0.3:
            return self._tag("dimension missing", {k: v for k, v in key.items() if k != name})
        if what < 0.45:
            return self._tag("dimension too many", key | {"no_such": "a"})
        if name == "sequence":
            return key | {name: self._tag("bad sequence", self.r.choice(BAD_SEQUENCES))}
        if what < 0.7:
            return key | {name: self._tag("empty dimension", "")}
        return key | {name: self._tag("bad dimension", self.r.choice(BAD_NAMES))}

    def _with_nonce(self, params: dict[str, Any], nonce: str | None = None) -> dict[str, Any]:
        """A delegation has one; now and then it lacks it, or another message has one."""
        key = params["key"]
        if type(key) is not dict or key.get("type") != "delegate":
            if self.r.random() < 0.03:
                params["nonce"] = self._tag("nonce out of place", self.r.choice(("n1", "")))
            return params
        if self.r.random() < 0.04:
            self._tag("no nonce")
            return params
        params["nonce"] = self.r.choice(self.nonces) if nonce is None or self.r.random() < 0.1 else nonce
        if self.r.random() < 0.05 and (twins := self._twins(params["nonce"])):
            params["nonce"] = self._tag("look-alike nonce", self.r.choice(twins))
        elif nonce is not None and params["nonce"] != nonce:
            self._tag("other nonce")
        return params

    def _payload(self) -> Any:
        what = self.r.random()
        if what < 0.006:
            return self._tag("largest payload", self._large())
        if what < 0.012:
            return self._tag("payload too large", self._large() + "p")
        if what < 0.016:
            return self._tag("deepest value", self._nested(LEVELS_MAX))
        if what < 0.018:
            return self._tag("too deep", self._nested(LEVELS_MAX + 1))
        if what < 0.02:
            return self._tag("no JSON", self.r.choice(("\ud800", [["\udfff"]], {"a": "\ud83d"})))
        if what < 0.6:
            return self.r.choice(PAYLOADS)
        self.serial += 1
        return self.serial

    def _large(self) -> str:
        """The longest text of one character, and of others where it does not come out even."""
        char = self.r.choice(LARGE)
        count, left = divmod(self._payload_max() - 2, len(text_of(char)) - 2)
        return char * count + "p" * left

    def _nested(self, levels: int) -> Any:
        value: Any = [] if self.r.random() < 0.5 else {}
        for _ in range(levels - 1):
            value = [value] if self.r.random() < 0.5 else {"a": value}
        return value

    def _payload_max(self) -> int:
        return self.model.limits.get("payload_bytes_max", int(BOUND_OF["payload"].high))

    # -- steps

    def _call(self, at: int) -> Step:
        draws: tuple[tuple[Callable[[int], Step], int], ...] = (
            (self._send, 16),
            (self._reply, 16),
            (self._fetch, 16),
            (self._settle, 12),
            (self._call_of, 14),
            (self._fork, 12),
            (self._log, 6),
            (self._state, 3),
            (self._verify, 3),
            (self._replay, 4),
            (self._timelines, 3),
            (self._dump, 2),
            (self._subject_of, 5),
            (self._key_of, 5),
            (self._reply_key, 3),
            (self._filter_subject, 4),
            (self._matches, 4),
        )
        draw = self.r.choices([option for option, _ in draws], [weight for _, weight in draws])[0]
        return draw(at)

    def _clock(self) -> Step:
        """To the moment when a delivery is over, or a millisecond before; on, or back."""
        due = [held.until_ms for c in self.model.consumers.values() for held in c.held.values() if not held.back_at]
        what = self.r.random()
        if due and what < 0.7:
            until = self.r.choice(due)
            now_ms, tag = (until - 1, "due - 1 ms") if self.r.random() < 0.4 else (until, "due")
            now_ms = min(NOW_MS_LAST, now_ms)
        elif what < 0.85:
            now_ms, tag = max(0, self.now_ms - self.r.choice((1, 1, 5_000, 5_000, self.now_ms))), "clock back"
        else:
            later = self.now_ms + self.r.choice((1, 500, 10**6, DAY_MS, A_YEAR_MS))
            now_ms, tag = min(NOW_MS_LAST, later), "long ago"
            if self.r.random() < 0.03:
                now_ms, tag = NOW_MS_LAST, "last of times"
        return Step("clock", params={"now_ms": now_ms}, tags=(tag,))

    def _race(self) -> Step:
        """Two or three processes at the lock at once."""
        self.tags = ["race"]
        draws = (self._send, self._reply, self._fetch, self._fetch, self._settle, self._fork, self._call_of)
        draw = self.r.choice(draws)
        places = self.r.sample(range(PROCESSES), 2)
        first = draw(places[0])
        second = (
            replace(first, params=copied(first.params)) if self.r.random() < 0.4 else self.r.choice(draws)(places[1])
        )
        second.at = places[1]
        for step in (first, second):
            step.params.pop("wait_ms", None)
            if "timeout_ms" in step.params:
                step.params["timeout_ms"] = 0
        if second.method == first.method and "payload" in second.params and self.r.random() < 0.5:
            second.params["payload"] = self._tag("sent with other content", ["other"])
        return Step("race", calls=[first, second], tags=tuple(self.tags))

    def _tampered(self) -> Step:
        """Some column of some row is changed; verify says so, and finds no fault once it is mended."""
        what = self.r.random()
        if what < 0.15:
            message = self.r.choice(self.model.record)
            of = {"timeline": message.key["timeline"], "number": message.number}
            return self._verified(call("hand", "take_out", **of), self._beyond(of, of["timeline"]), "taken out")
        of, columns = self._of_a_timeline() if what < 0.65 else self._of_a_message()
        column = self.r.choice([*columns, "parent"] if "parent" in columns else list(columns))
        tag = "tampered parent" if column == "parent" else f"tampered {of['table'][:-1]}"
        tampering = call("hand", "tamper", **of, column=column, value=columns[column])
        # By its name, too, unless the name was changed.
        name = self._beyond(of, of["timeline"]) if of["table"] == "messages" else of["timeline"]
        return self._verified(tampering, name if column != "timeline" else None, tag)

    def _verified(self, tampering: Step, name: str | None, tag: str) -> Step:
        named = {"timeline": name} if name is not None and self.r.random() < 0.5 else {}
        if name is not None and named and self.r.random() < 0.5:  # a head that is true says nothing of what lies before
            named["head"] = self._tag("tampered, with its head", plain(self.model.lanes[name].last[1]))
        calls = [tampering, call(0, "verify", **named), call("hand", "mend"), call(0, "verify", **named)]
        return Step("many", calls=calls, tags=(tag, *self.tags))

    def _beyond(self, of: dict[str, Any], own: str) -> str:
        """A timeline that sees the message: its own, or a fork that begins behind it."""
        forks = [
            name
            for name in self.model.lanes
            for ancestor, upto in self.model.lineage(name)[1:]
            if ancestor == own and upto is not None and of["number"] <= upto
        ]
        if forks and self.r.random() < 0.5:
            return str(self._tag("tampered below a fork", self.r.choice(forks)))
        return own

    def _of_a_message(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """A row, and other values for its columns."""
        message = self.r.choice(self.model.record)
        columns: dict[str, Any] = dict.fromkeys(("state", "previous", "hash"), self.r.choice("abcdef") * 64)
        columns |= dict.fromkeys(("submission", "nonce"), "tampered")
        columns |= {"submission": self._nearly(message.key["submission"])} if self.r.random() < 0.5 else {}
        columns |= {"type": self._nearly(message.subject.split(".")[3]) if self.r.random() < 0.5 else "tampered"}
        columns |= {"subject": message.subject + "0", "payload": '"tampered"'}
        columns |= {"time_us": message.time_us + 1, "number": message.number + 10**6}
        if self.r.random() < 0.2:  # of another type, or not there any more
            columns |= {"time_us": "x", "number": "x", "payload": None, "hash": None}
            columns |= {"state": None} if message.said is not None else {}
            columns |= {"nonce": None} if message.nonce is not None else {}
        return {"table": "messages", "timeline": message.key["timeline"], "number": message.number}, columns

    def _nearly(self, text: str) -> str:
        """Another text that a careless comparison takes for this one: its beginning, or more than it."""
        cut = {text[:-1], *(text.rpartition(mark)[0] for mark in "-_. ")} - {""}
        more = [longer for longer in (text + " ", text + "0") if DIMENSION.takes(longer)]
        return self.r.choice([*sorted(cut), *more])

    def _of_a_timeline(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The same. A parent may become any timeline: a sibling that begins alike, a descendant, itself."""
        lane = self.r.choice(list(self.model.lanes.values()))
        columns = {"timeline": f"{lane.name[:50]}0", "number": lane.last[0] + 1, "hash": self.r.choice("abcdef") * 64}
        if lane.parent is not None:
            others = [other.name for other in self.model.lanes.values() if other.name != lane.parent]
            columns |= {"parent": self.r.choice(others), "at": lane.at + 1 if self.r.random() < 0.8 else None}
        return {"table": "timelines", "timeline": lane.name}, columns

    def _volume(self) -> Step:
        """A timeline with more messages than a reader takes at once."""
        self.serial += 1
        key = self._fresh("invoke", self._timeline()) | {"harness": f"v{self.serial}.#"}
        return Step("many", calls=[call(0, "reply", key=key, payload="#", state="#")], times=VOLUME, tags=("volume",))

    def _wait(self) -> Step:
        """A call, or a fetch, that waits for another process to bring something; or nearly that."""
        self.tags = ["wait"]
        waiter, other = self.r.sample(range(PROCESSES), 2)
        key = self._fresh(self.r.choice(REQUEST_TYPES), self._timeline()) | {"submission": f"w{self.serial}"}
        self.serial += 1
        nonce = {"nonce": self.r.choice(self.nonces)} if key["type"] == "delegate" else {}
        is_beside = self.r.random() < 0.2
        what = self.r.random()
        if what < 0.15 and (given_back := self._given_back()) is not None:
            return given_back
        if what < 0.3:
            self._tag("answer fetched while it waits")
            answer = reply_key(key, nonce.get("nonce"))
            waiting = self._step(waiter, "fetch", self._with_group({"filter": answer}) | {"wait_ms": 3_000})
            bringing = call(other, "reply", key=key, payload=1, **nonce)
        elif what < 0.65:
            payload: Any = 1
            if (asked := self._unanswered()) is not None and self.r.random() < 0.5:
                key, payload, nonce = asked.key, asked.value.value, {}
            brought = self._near(key) if is_beside else key
            self._tag("answered beside it" if is_beside else "answered while it waits")
            params = _params_of(key) | nonce | {"payload": payload, "timeout_ms": 300 if is_beside else 3_000}
            waiting = call(waiter, CALLS[key["type"]], **params)
            bringing = call(other, "reply", key=brought, payload=2, **nonce)
        else:
            brought = self._near(key) if is_beside else key
            self._tag("sent beside it" if is_beside else "fetched while it waits")
            waiting = call(waiter, "fetch", filter=dict(key), wait_ms=300 if is_beside else 3_000)
            bringing = call(other, "send", key=brought, payload=1, **nonce)
        return Step("wait", calls=[waiting, bringing], tags=tuple(self.tags))

    def _given_back(self) -> Step | None:
        """A worker waits for a message that another one has in hand, and then gives back."""
        for params in reversed(self.fetched if "nak" in self.features else []):
            wanted = {name: value for name, value in params["filter"].items() if value is not None}
            owner = self.model.sharing(params.get("group"))
            consumer = self.model.consumers.get((filter_subjects(wanted)[0], owner))
            if consumer is None or self.model.next_of(consumer, wanted) is not None:
                continue
            held = next(iter(consumer.held.values()), None)
            if held is not None:
                giver = int(held.by[0])
                waiting = call((giver + 1) % PROCESSES, "fetch", **{**params, "wait_ms": 3_000})
                calls = [waiting, call(giver, "nak", delivery=held.ticket)]
                return Step("wait", calls=calls, tags=("wait", "given back while it waits"))
        return None

    def _unanswered(self) -> Message | None:
        """A request that stands open."""
        asked = [message for message in self.model.record if message.key["type"] == "request"]
        return next((m for m in reversed(asked) if self.model.answer_on(m.key, m.nonce) is None), None)

    def _spoil(self, step: Step) -> None:
        """One parameter too many or too few, or one of a wrong kind."""
        if (
            step.method in ("run_agent", "call_service", "delegate", "fetch")
            or not step.params
            or self.r.random() < 0.3
        ):
            step.params["no_such"] = 1
        elif self.r.random() < 0.2:
            del step.params[self.r.choice(sorted(step.params))]
        else:
            names = [name for name in step.params if name not in ("payload", "state", "key", "filter", "head")]
            if not names:
                return
            step.params[self.r.choice(sorted(names))] = self.r.choice((True, [], {}, 1.5, -1))
        step.tags = ("junk",)

    # -- sending

    def _send(self, at: int) -> Step:
        what = self.r.random()
        if what < 0.12 and (asked := self._asked()) is not None:
            params: dict[str, Any] = {"key": asked.key, "payload": asked.value.value}
            if self.r.random() < 0.5:
                params["payload"] = self._tag("sent with other content", self._other(asked.value.value))
            else:
                self._tag("sent again")
            return self._step(at, "send", params | ({"nonce": asked.nonce} if asked.nonce is not None else {}))
        if what < 0.2 and (asked := self._asked()) is not None:
            key: Any = self._near(asked.key)
        elif what < 0.26:
            key = self._fresh(self.r.choice([kind for kind in VARIANTS if kind not in REPLY_TYPES]), self._timeline())
            self._tag("a fork is sent" if key["type"] == "fork" else "a reply is sent")
        else:
            key = self._fresh(self.r.choice(REQUEST_TYPES), self._timeline())
        if any(type(text) is str and len(text.encode()) == DIMENSION.high for text in key.values()):
            self._tag("longest name")
        if what > 0.96:
            key = self._spoilt(key)
        elif type(key) is dict and self.model.lanes.get(key["timeline"]) and self._has_forks(key["timeline"]):
            self._tag("the parent goes on")
        return self._step(at, "send", self._with_nonce({"key": key, "payload": self._payload()}))

    def _has_forks(self, timeline: str) -> bool:
        return any(lane.parent == timeline for lane in self.model.lanes.values())

    def _other(self, value: Any) -> Any:
        """Other content, which may look the same."""
        twins = [payload for payload in PAYLOADS if payload == value and repr(payload) != repr(value)]
        if twins:
            return self._tag("look-alike content", self.r.choice(twins))
        return self._tag("look-alike content", repr(value)) if self.r.random() < 0.3 else [value]

    def _reply(self, at: int) -> Step:
        asked = self._asked()
        what = self.r.random()
        if asked is None or what < 0.08:
            key: Any = self._tag("answer to nothing", self._fresh(self.r.choice(REQUEST_TYPES), self._timeline()))
            nonce = None
        elif what < 0.16:
            key, nonce = self._near(asked.key), asked.nonce
        else:
            key, nonce = asked.key, asked.nonce
        if what > 0.97:
            key = self._spoilt(key)
        elif what > 0.94:
            replies = [kind for kind in VARIANTS if kind not in REPLY_TYPES]
            key = self._tag("reply to a reply", self._fresh(self.r.choice(replies), self._timeline()))
        params: dict[str, Any] = {"key": key, "payload": self._payload()}
        if asked is not None and key is asked.key:
            self._note_answer(params, asked)
        if "state" not in params and self.r.random() < 0.3 and type(key) is dict and "type" in key:
            of_response = key["type"] == "request"
            if not of_response or self.r.random() < 0.2:
                state = self.r.choice(STATES)
                if self.r.random() < 0.02:
                    state = self._tag("largest state", self._large())
                    params["payload"] = self._large() if self.r.random() < 0.5 else params["payload"]
                params["state"] = self._tag("state of a response" if of_response else "state", state)
        return self._step(at, "reply", self._with_nonce(params, nonce))

    def _note_answer(self, params: dict[str, Any], asked: Message) -> None:
        answer = self.model.answer_on(asked.key, asked.nonce)
        if answer is None:
            timed_out = self.r.random() < 0.5
            self._tag("late reply") if timed_out else None
        elif self.r.random() < 0.5:
            params["payload"] = self._tag("answered again", answer.value.value)
        else:
            params["payload"] = self._tag("other answer", self._other(answer.value.value))

    # -- receiving

    def _filter(self) -> Any:
        """A worker's filter: from existing messages, and always one of few, so that workers share them."""
        what = self.r.random()
        of = self.r.choice(self.model.record).key if self.model.record else self._fresh("invoke", "main")
        names = dimensions(of["type"])
        if what < 0.45:
            return self._tag("filter of a type", {"type": of["type"]})
        if what < 0.55:
            return self._tag("filter of all", dict(of))
        if what < 0.6:
            return self._tag("bad filter", self._spoilt(of) if self.r.random() < 0.5 else {"agent": "a"})
        if what < 0.75 and of["type"] == "request":
            return {"type": "request", "service": of["service"], "backend": of["backend"]}
        if what < 0.87:
            name = self.r.choice(names)
            return self._tag("filter with a hole", {"type": of["type"], name: of[name]})
        some = {name: of[name] for name in names if self.r.random() < 0.5}
        if what < 0.94:
            return self._tag("filter of some", {"type": of["type"], **some})
        if what < 0.97:
            near = self._near(of)
            return self._tag("filter that nearly fits", {"type": of["type"], **{name: near[name] for name in names}})
        open_ = dict.fromkeys(names[self.r.randrange(len(names)) :])
        return self._tag("null in a filter", {"type": of["type"], **some, **open_})

    def _with_group(self, params: dict[str, Any]) -> dict[str, Any]:
        what = self.r.random()
        if what < 0.75 or "groups" not in self.features:
            return params
        if what > 0.99:
            return params | {"group": self._tag("bad group", self.r.choice(("", *BAD_NAMES[1:])))}
        tag, group = ("group", GROUPS[0]) if what < 0.9 else ("other group", self.r.choice(GROUPS[1:]))
        return params | {"group": self._tag(tag, group)}

    def _fetch(self, at: int) -> Step:
        params = self._with_group({"filter": self._filter()})
        if self.r.random() < 0.02:
            params["wait_ms"] = self.r.choice((1, 20, *BAD_WAITS))
            if params["wait_ms"] in BAD_WAITS:
                self._tag("bad number")
        self._note_fetch(params)
        if "bad filter" not in self.tags and "bad group" not in self.tags:
            self.fetched.append(dict(params))
        return self._step(at, "fetch", params)

    def _again(self) -> dict[str, Any]:
        """A recent fetch, for any caller: is a message that one has, or had, in nobody else's hands?"""
        params = {name: value for name, value in self.r.choice(self.fetched[-3:]).items() if name != "wait_ms"}
        self._note_fetch(params)
        return params

    def _note_fetch(self, params: dict[str, Any]) -> None:
        wanted = params["filter"]
        if type(wanted) is not dict or {"bad filter", "bad group", "null in a filter"} & {*self.tags}:
            return
        consumer = self.model.consumers.get((filter_subjects(wanted)[0], params.get("group")))
        place = self.model.next_of(consumer, wanted) if consumer else None
        if consumer and place is None:
            self._tag("nothing to fetch")
        elif consumer and place in consumer.held:
            self._tag("fetched again")
        elif consumer and place is not None and self.model.lanes[self.model.record[place].key["timeline"]].parent:
            self._tag("fetch of a fork's")

    def _settle(self, at: int) -> Step:
        """Acknowledge, or give back: mostly a delivery in hand, now and then one that is over."""
        method = "nak" if self.r.random() < 0.35 and "nak" in self.features else "ack"
        held = [delivery.ticket for consumer in self.model.consumers.values() for delivery in consumer.held.values()]
        over = [free for name, free in self.model.frees.items() if name in self.model.tickets and free not in held]
        if self.r.random() < 0.04 or not (held or over):
            return self._step(
                at, method, {"delivery": self._tag("ack of nothing", self.r.choice(("", "nothing", 5, None)))}
            )
        late = [free for free in over if self._is_anothers(free)]
        if late and self.r.random() < 0.3:
            return self._step(at, method, {"delivery": self._tag(f"late {method}", self.r.choice(late))})
        if held and (not over or self.r.random() < 0.8):
            return self._step(at, method, {"delivery": self._tag(method, self.r.choice(held))})
        return self._step(at, method, {"delivery": self._tag(f"{method} again", self.r.choice(over))})

    def _is_anothers(self, ticket: Any) -> bool:
        """Was the message handed out again since?"""
        consumer, place = self.model.tickets[ticket.name]
        return place in consumer.held

    # -- calls

    def _call_of(self, at: int) -> Step:
        if "calls" not in self.features:
            return self._log(at)
        timeline, what = self._timeline(), self.r.random()
        lane = self.model.lanes.get(timeline)
        asked = [m for m in (self.model.seen(timeline) if lane else []) if m.key["type"] in REPLY_TYPES]
        answers = [m for m in (self.model.seen(timeline) if lane else []) if m.key["type"] in ASKED_BY]
        if answers and what < 0.1:  # no matter who asked, if anybody
            of = {"runtime": self.r.choice(("local", "far")), **self.r.choice(answers).key, "timeline": timeline}
            type_ = ASKED_BY[of["type"]]
            key, nonce, payload = {"type": type_}, of.get("nonce"), self._payload()
            key |= {name: of[name] for name in dimensions(type_)}
        elif asked and what < 0.75:
            message = self.r.choice(asked)
            key, nonce, payload = message.key | {"timeline": timeline}, message.nonce, message.value.value
            self._note_call(message, timeline)
            if self.r.random() < 0.12:
                payload = self._tag("same call, other content", self._other(payload))
            elif self.r.random() < 0.1:
                key = self._tag("near call", self._near(key))
        else:
            key, nonce, payload = self._fresh(self.r.choice(REQUEST_TYPES), timeline), None, self._payload()
            self._tag("time out")
        params = _params_of(key) | {"payload": payload, "timeout_ms": 0}
        if self.r.random() < 0.02:
            params["timeout_ms"] = self._tag("bad number", self.r.choice(BAD_WAITS))
        if self.r.random() < 0.01:
            params["timeout_ms"] = 30
        if key["type"] == "delegate":
            params["nonce"] = self._tag("call with a nonce", nonce or self.r.choice(self.nonces))
        if what > 0.97:
            params["submission"] = self._tag("empty dimension", "")
        return self._step(at, CALLS[key["type"]], params)

    def _note_call(self, message: Message, timeline: str) -> None:
        answer = self.model.answer_on(message.key, message.nonce)
        seen = answer is not None and answer in self.model.seen(timeline)
        if message.key["timeline"] != timeline:
            self._tag("call on a fork, answered" if seen else "call on a fork, unanswered")
        else:
            self._tag("answered call" if seen else "same call again")

    # -- looking

    def _log(self, at: int) -> Step:
        timeline = self._timeline()
        lane = self.model.lanes.get(timeline)
        if lane is None:
            self._tag("unknown timeline")
        newest = lane.last[0] if lane else 1
        params: dict[str, Any] = {"timeline": timeline}
        if self.r.random() < 0.4:
            params["after"] = self._tag(
                "after", self.r.choice((0, max(0, newest - 1), newest, newest + 1, lane.at if lane else 0))
            )
            if self.r.random() < 0.4:
                params["after"] = self.r.choice((self.r.randint(0, newest), self.r.randint(0, newest), 2**53, INT_MAX))
        if self.r.random() < 0.3:
            limits = (1, 2, newest, newest + 1, 3, 500, 501, 1_001, 2**31 - 1, 0, 2**31)
            params["limit"] = self._tag("limit", self.r.choice(limits))
        if self.r.random() < 0.3:
            params["submission"] = self._tag("of a submission", self._submission())
        if self.r.random() < 0.04:
            params[self.r.choice(("after", "limit"))] = self._tag("bad number", self.r.choice(BAD_NUMBERS))
        return self._step(at, "log", params)

    def _submission(self) -> str:
        """Mostly one that is there; now and then a name that looks like it."""
        name = str(self.r.choice(self.submissions))
        return str(self._tag("look-alike submission", self._nearly(name))) if self.r.random() < 0.08 else name

    def _state(self, at: int) -> Step:
        agent = self.r.choice(self.agents)
        if self.r.random() < 0.1:
            agent = self._tag("unknown agent", self.r.choice((self._nearly(agent), *NAMES)))
        return self._step(at, "state", {"timeline": self._timeline(), "agent": agent})

    def _verify(self, at: int) -> Step:
        if "verify" not in self.features:
            return self._log(at)
        lanes = list(self.model.lanes.values())
        if self.heads and self.r.random() < 0.3:
            timeline, head = self.r.choice(self.heads)
            self._tag("head" if head == plain(self.model.lanes[timeline].last[1]) else "old head")
            return self._step(at, "verify", {"timeline": timeline, "head": head})
        if lanes:
            noted = self.r.choice(lanes)
            self.heads.append((noted.name, plain(noted.last[1])))
        params: dict[str, Any] = {} if self.r.random() < 0.4 else {"timeline": self._timeline()}
        if self.r.random() < 0.15:
            params["head"] = self._tag("head of nothing", self.r.choice(("0" * 64, "", 5, True)))
        return self._step(at, "verify", params)

    def _replay(self, at: int) -> Step:
        if "replay" not in self.features:
            return self._log(at)
        timeline, submission = self._timeline(), self._submission()
        lane = self.model.lanes.get(timeline)
        kinds = [m.key["type"] for m in self.model.seen(timeline) if m.key["submission"] == submission] if lane else []
        self._tag("replay" if "complete" in kinds else "replay without a complete" if kinds else "unknown submission")
        return self._step(at, "replay", {"timeline": timeline, "submission": submission})

    def _timelines(self, at: int) -> Step:
        return self._step(at, "timelines", {})

    def _dump(self, at: int) -> Step:
        return self._step(at, "dump", {})

    # -- forks

    def _fork(self, at: int) -> Step:
        lanes = list(self.model.lanes.values())
        begun = [lane for lane in lanes if lane.parent is not None]
        what = self.r.random()
        if begun and what < 0.15:
            deep = [lane for lane in begun if lane.parent in self.model.lanes and self.model.lanes[lane.parent].parent]
            fork = self.r.choice(deep if deep and self.r.random() < 0.5 else begun)
            first = fork.messages[0].key
            params = {"timeline": fork.name, "submission": first["submission"], "agent_name": first["agent_name"]}
            params |= {"parent": fork.parent, "at": fork.at}
            grown = self.model.lanes[fork.parent].parent if fork.parent in self.model.lanes else None
            if self.r.random() < 0.3:
                self._tag("fork again")
            elif grown is not None and self.r.random() < 0.5:  # it may have the very message
                params["parent"] = self._tag("fork of another parent", grown)
            elif self.r.random() < 0.3:
                params["submission"] = self._tag("fork again, of another submission", first["submission"] + "x")
            elif self.r.random() < 0.5 and fork.at:
                params["at"] = self._tag("fork with another point", fork.at - 1)
            else:
                params["agent_name"] = self._tag("fork onto what exists", first["agent_name"] + "x")
            return self._step(at, "fork", params)
        parent = self.r.choice(lanes) if lanes and self.r.random() < 0.96 else None
        newest = parent.last[0] if parent else 1
        points = {
            "fork at 0": 0,
            "fork at the end": newest,
            "fork beyond": newest + 1,
            "far beyond": self.r.choice((2**31, SEQUENCE.at(), INT_MAX)),
            "in the middle": self.r.randint(0, newest),
        }
        tag = self.r.choice((*points, *("in the middle", "fork at the end") * 2))
        if parent is None:
            self._tag("fork of nothing")
        elif tag in EDGES:
            self._tag(tag)
        if parent is not None and parent.parent is not None:
            self._tag("fork below a fork" if points[tag] <= parent.at else "fork of a fork")
        self.serial += 1
        name = f"{self.r.choice(NAMES[:14])}{self.serial}"
        if lanes and self.r.random() < 0.06:
            name = self._tag("fork onto what exists", self.r.choice(lanes).name)
        params = {
            "timeline": name,
            "submission": self.r.choice(self.submissions),
            "agent_name": self.r.choice(self.agents),
        }
        params |= {"parent": parent.name if parent else "nowhere", "at": points[tag]}
        if self.r.random() < 0.03:  # not at 0: where a name alone has a beginning (T17), so might this one
            params |= {"parent": self._tag("fork of itself", params["timeline"]), "at": max(1, points[tag])}
        if self.r.random() < 0.03:
            params["at"] = self._tag("bad number", self.r.choice(BAD_NUMBERS))
        return self._step(at, "fork", params)

    # -- keys

    def _subject_of(self, at: int) -> Step:
        key = self._key()
        params = {"key": self._spoilt(key) if self.r.random() < 0.15 else key}
        return self._step(at, "subject_of", self._with_nonce(params) if self.r.random() < 0.3 else params)

    def _reply_key(self, at: int) -> Step:
        key = self._key()
        return self._step(
            at, "reply_key", self._with_nonce({"key": self._spoilt(key) if self.r.random() < 0.1 else key})
        )

    def _key_of(self, at: int) -> Step:
        written = subject(self._key())
        what = self.r.random()
        if what < 0.5:
            return self._step(at, "key_of", {"subject": written})
        first, *rest = written.split(".")
        spoilt = {
            "subject of nothing": self.r.choice(
                ("", "vlinder", 5, None, "other" + written[7:], written.upper(), written + ".")
            )
            if self.r.random() < 0.6
            else ".".join([first, *rest[:2], "nothing", *rest[3:]]),
            "token too many": written + ".a" if self.r.random() < 0.5 else written.rpartition(".")[0],
            "needless escape": ".".join([first, "%61", *rest[1:]]),
            "lower-case escape": ".".join(
                [first, self.r.choice(("%2e", "%C3%28", "%", "%2", "%ZZ", "", "%ED%A0%80")), *rest[1:]]
            ),
            "leading zero": written[: len(written) - len(rest[-1])]
            + self.r.choice(("01", "-1", "+1", "1.0", "\u0661", "1\u0661", "9" * 20)),
        }
        tag = self.r.choice(sorted(spoilt))
        return self._step(at, "key_of", {"subject": self._tag(tag, spoilt[tag])})

    def _filter_subject(self, at: int) -> Step:
        if self.r.random() < 0.15:
            return self._step(
                at, "filter_subject", {"filter": {"type": "request", "service": "infer", "backend": "ollama"}}
            )
        return self._step(at, "filter_subject", self._with_group({"filter": self._filter()}))

    def _matches(self, at: int) -> Step:
        key = self._key()
        some = {name: key[name] for name in dimensions(key["type"]) if self.r.random() < 0.5}
        wanted = {"type": key["type"], **some}
        what = self.r.random()
        if what < 0.4:
            other = self._tag("matches not", self._near(key))
        elif what < 0.5:
            other = self._tag("matches not", self._key())
        else:
            other = self._tag("matches", key)
        return self._step(at, "matches", {"filter": wanted, "key": other})


def _params_of(key: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in key.items() if name != "type"}


def _things(method: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    key = params.get("key")
    timeline = key.get("timeline") if type(key) is dict else params.get("timeline")
    if type(timeline) is str:
        yield "timeline", timeline
    yield "store", ""


def _conditions(model: TimelineModel, called: Called) -> Iterator[str]:
    """Conditions that may matter to a call in this state, in a person's words."""
    key = called.params.get("key")
    name = key.get("timeline") if type(key) is dict else called.params.get("timeline")
    lane = model.lanes.get(name) if type(name) is str else None
    if lane is not None:
        yield "on a fork" if lane.parent is not None else "on a root"
        if any(fork.parent == name for fork in model.lanes.values()):
            yield "it has forks"
        if lane.parent is not None and model.lanes[lane.parent].parent is not None:
            yield "a fork of a fork"
        if lane.parent is not None and lane.at == 0:
            yield "from the very start"
    held = [delivery for consumer in model.consumers.values() for delivery in consumer.held.values()]
    if any(model.is_back(delivery) for delivery in held):
        yield "something came back"
    if any(delivery.count > 1 for delivery in held):
        yield "something was handed out again"
    if model.record and called.now_ms * 1000 < model.record[-1].time_us:
        yield "the clock is behind"
    if called.params.get("group") is not None:
        yield "in a group"
    if len({*model.ack_wait_ms.values()}) > 1:
        yield "other times of work"
    if any(len(message.payload) > LONG_CHARS for message in model.record):
        yield "a long payload"
    filter_ = called.params.get("filter")
    if type(filter_) is dict and type(filter_.get("type")) is str and filter_["type"] in VARIANTS:
        count = len(filter_.keys() - {"type"})
        yield "all open" if not count else "none open" if count == len(dimensions(filter_["type"])) else "some open"


METHODS = tuple(name for name, method in CONTRACT.methods.items() if method.noun is not None)

SPECIFICATION = Specification(
    "timeline", TimelineModel, TimelineHand, TimelineGenerator, _things, EDGES, METHODS, conditions=_conditions
)
