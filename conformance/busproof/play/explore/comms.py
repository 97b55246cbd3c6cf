"""Programs for `comms`: the calls that matter now are drawn from the model's state.

Every program has a theme, so that rare states are reached on purpose: dead letters, broadcasts, an empty bucket. A
step that was drawn for an edge says so in a tag; `EDGES` lists them all, and the corpus must hold each.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from busproof.bus.hand_comms import CommsHand
from busproof.contract.bounds import LEVELS_MAX, NAME, TEXT
from busproof.contract.common import T0_MS
from busproof.contract.comms import CONTRACT
from busproof.oracle.models.comms import CommsModel
from busproof.oracle.models.comms_state import Delivery, Due, Message
from busproof.oracle.models.comms_values import STANDARD
from busproof.oracle.models.parts import text_of
from busproof.oracle.models.spec import Free, plain
from busproof.play.explore.drawing import ALIKE, ODD_NAMES, Drawing
from busproof.play.explore.orders import Called
from busproof.play.explore.script import Step, call, changed, copied
from busproof.play.explore.stage import Specification
from busproof.play.explore.vary import LOOK_ALIKE

BOUND_OF = CONTRACT.bound_of
NAMES = (*ODD_NAMES, "a:b")
TYPES = (
    *("a.query", "a.query.query", "a.queryplan", ".query", "A.QUERY", "vote.cast ", "Vote.initiate", "heartbeats"),
    # The longest, and the longest whose answer's type is no longer than a text may be, and one more.
    *("n_te", BOUND_OF["message_type"].at(), "q" * 1017 + ".query", "q" * 1018 + ".query"),
)
CHANNELS = (
    *("general", "urgent", "General", "c1", "caf\u00e9", "cafe\u0301", "gen%", "general "),
    *("general,urgent", "gener'al", '["general"]', "null"),  # made of what joins names in a list
    *("y" * 1024, BOUND_OF["channel"].at()),
)
LINKS = ("req-001", "REQ-001", "0", "c" * 1024, BOUND_OF["correlation_id"].at(), "caf\u00e9", "cafe\u0301")
FILLS = ("x", "\u00e9", "\u6f22", "\U0001f600", '"', "\\", "\n", "[")  # of 1 to 4 bytes in UTF-8, of 1 to 12 in JSON
LINES = ("# a comment", "5", "null", "[]", "{}", "{x", '"a text"', "caf\u00e9", "", " ", "z" * 70_000)  # of others
JUNK: tuple[Any, ...] = (True, False, -1, 1.5, 2**63, "", [], {}, "7", [1], 10**30)
TTLS_S = (10, 59, 60, 61, 299, 301, 3600, 3601, 86_401, *BOUND_OF["ttl_seconds"].taken, *BOUND_OF["ttl_seconds"].free)
STATUSES = ("active", "idle", "degraded", "failed")
FILES = ("result.json", "Result.json", "a b", ".hidden", "result.json.tmp", "caf\u00e9")
THEMES = (
    *("all", "lease", "retry", "retry", "broadcast", "broadcast", "expiry", "votes", "rate", "rate", "route"),
    *("answers", "presence", "blob", "blob", "export", "export", "arguments", "ids", "many"),
)
NEAR = (("-1", -1), ("+0", 0), ("+1", 1))

EDGES = (
    *(f"{what}{at}" for what in ("claim", "retry", "expiry", "deadline", "token") for at in ("-1", "+0", "+1")),
    *("clock back", "clock forward", "restart", "kill", "reopen", "second process", "race", "wait"),
    *("answered request", "broadcast", "to oneself", "priority 1", "priority 10", "priority 0", "priority 11"),
    *("no expiry", "ttl 0", "own ttl", "newcomer", "urgent", "given id", "id in upper case", "id of the bus", "retry"),
    *("retry with another field", "retry with another payload", "retry of a dead letter"),
    *("retry of what was cleaned up", "retry of what is done", "retry with an empty bucket", "retry after the vote"),
    *("claim another's", "claim again", "claim what is done", "claim what is expired", "claim of an unknown id"),
    *("late completion", "stale count", "count to come", "completes another's", "nobody's", "completes what is over"),
    *("completes a dead letter", "third failure", "redrive", "redrive twice", "redrive unknown"),
    *("redrive of a living broadcast", "redrive of an expired broadcast", "falsy", "look-alike", "limit 0", "limit 1"),
    *("as many as there are", "one more than there are", "no channels", "a channel twice", "two channels", "tie"),
    *("standard type", "broken standard type", "vote", "cast", "cast again", "cast late", "no option", "no vote"),
    *("tie vote", "answer", "answer again", "answer to a broadcast", "answer by another", "answer of nobody"),
    *("artifact told", "bad artifact path", "not an envelope", "valid envelope", "two faults", "bad name", "bad text"),
    *("junk", "no such field", "field missing", "artifact replaced", "artifact linked", "path elsewhere"),
    *("no artifact", "never seen", "bad status", "clean up", "held past its time", "stranger", "strangers' line"),
    *("empty bucket", "patience", "breaker", "answer with an empty bucket", "unanswered request", "65536 characters"),
    *("waits in vain", "more than 1,000", "stranger's claim", "spoiled payload", "cut letter", "lost artifact"),
    *("spoiled artifact", "line without its end", "4 MiB", "4 MiB + 1", "256 levels", "257 levels", "wide characters"),
    *("stranger's ttl", "many channels", "more agents", "many options", "directed vote", "vote in other letters"),
    *("any send, with patience", "error of lines", "65537 characters", "many votes"),
)

Drawn = tuple[str, dict[str, Any]]


class CommsGenerator(Drawing):
    """Draws the steps of one program."""

    def __init__(self, rng: random.Random, features: frozenset[str]) -> None:
        super().__init__(rng, features)
        self.theme = rng.choice(THEMES)
        self.agents = rng.sample(rng.choice((NAMES, LOOK_ALIKE)), 3) if rng.random() < 0.5 else ["ann", "bob", "cy"]
        self.agents += ["dan", "eve"] if rng.random() < 0.15 else []
        self.channels = ["general", *rng.sample(CHANNELS[1:], 2)]
        self.ids = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(3)]
        self.processes = rng.choice((2, 2, 3))
        self.answers: list[dict[str, Any]] = []  # with ids of their own: each may be sent again

    # -- a program

    def start(self) -> Iterator[Step]:
        """Two or three processes; in some programs an agent that has nearly used up its bucket."""
        for at in range(self.processes):
            yield Step("open", at, params={"options": {}})
        if self.theme == "rate":
            for number in range(self.r.choice((97, 98, 99, 100))):
                yield call(number % 2, "send_message", **self._said(self.agents[0], self.agents[1]))
        if self.theme == "many" and self.r.random() < 0.25:
            yield from self._many()

    def _many(self) -> Iterator[Step]:
        """More than any part that is handled at once: messages, agents, subscriptions, letters in the trail."""
        times = self.r.choice((300, 1001, 1100))
        to = self.r.choice((None, self.agents[0]))
        ttl_s = self.r.choice((10, 3600))
        message = {**self._said("sender #", to), "ttl_seconds": ttl_s, "priority": 7, "correlation_id": "#"}
        yield Step("many", 0, "send_message", message, times=times, tags=("more than 1,000",) if times > 1000 else ())
        yield Step("many", 1, "subscribe_to_channel", {"agent_id": self.agents[0], "channel_name": "c#"}, times=300)
        yield call(0, "get_subscribed_channels", agent_id=self.agents[0])
        for limit in (5, 1000, 5000):
            yield call(1, "receive_messages", agent_id=self.agents[0], channels=["general"], limit=limit)
        yield call(0, "get_agent_health", agent_id=self.agents[0]) if to else call(0, "dump")
        yield call(1, "export_audit_trail")
        yield call("hand", "audit_lines")
        if ttl_s == 10:
            yield Step("clock", params={"now_ms": T0_MS + 10_000})
            yield call(0, "cleanup_expired_messages")
            yield call(0, "export_audit_trail")
            yield call("hand", "audit_lines")

    def draw(self, model: Any, now_ms: int) -> Step:
        """The next step."""
        self.model: CommsModel = model
        self.now_ms, self.tags = now_ms, []
        if self.queue:
            return self.queue.pop(0)
        what = self.r.random()
        if what < 0.12:
            return self._clock()
        if what < 0.15 or (self.theme in ("export", "blob") and self.r.random() < 0.05):
            return self._mischief()
        if what < 0.18:
            return self._race()
        if what < 0.187:
            return self._wait()
        if what < (0.35 if self.theme == "arguments" else 0.22):
            return self._spoiled()
        if what < 0.27:
            return call(self.r.randrange(self.processes), "dump")
        return self._call(*self._operation())

    def end(self) -> Iterator[Step]:
        """Everything once more."""
        yield call(1, "export_audit_trail")
        yield call("hand", "audit_lines")
        yield call(0, "dead_letters")
        for agent in self.agents:
            yield call(0, "receive_messages", agent_id=agent, channels=self.channels, limit=1000)
            yield call(1, "get_agent_health", agent_id=agent)
            yield call(0, "get_subscribed_channels", agent_id=agent)
        for vote in self.model.votes:
            yield call(1, "tally", vote_id=vote.id)
        for path in self.model.artifacts:
            yield call(0, "read_artifact", artifact_path=path)
        yield call(1, "dump")

    def _call(self, method: str, params: dict[str, Any]) -> Step:
        if not method:
            return Step("clock", params=params)
        at = self.r.randrange(self.processes)
        if at:
            self.tags.append("second process")
        if params.get("agent_id", params.get("from_agent")) in self.agents[3:]:
            self.tags.append("more agents")
        return Step("call", at, method, params, tags=tuple(self.tags))

    # -- events around the calls

    def _clock(self) -> Step:
        """To a moment that decides something, or far, or back; then the agent concerned does something."""
        r = self.r
        edges: list[tuple[str, int, Step | None]] = []
        for message in self.model.messages:
            for agent, delivery in message.deliveries.items():
                if delivery.status in ("processing", "failed"):
                    edges += self._due_edges(message, agent, delivery)
            if message.expires_us is not None:
                edges += [
                    ("expiry" + at, message.expires_us // 1000 + d, self._after_expiry(message)) for at, d in NEAR
                ]
        for vote in self.model.votes:
            who = r.choice(self.agents)
            cast = self._said(who, None, "vote.cast", {"vote_id": vote.id, "option": r.choice(vote.options)})
            after = r.choice((call(0, "send_message", **cast), call(1, "tally", vote_id=vote.id)))
            casts = [m for m in self.model.sent if m.type == "vote.cast" and m.payload["vote_id"] == plain(vote.id)]
            if casts and r.random() < 0.3:
                after = call(0, "send_message", ("retry after the vote",), **self._as_said(r.choice(casts)))
            edges += [("deadline" + at, vote.deadline_us // 1000 + d, after) for at, d in NEAR] * 2
        for agent, (tokens, at_us) in self.model.buckets.items():
            if tokens < 1:
                full_ms = at_us // 1000 + int((1 - tokens) * 100)
                sends = call(0, "send_message", **self._said(agent, r.choice(self.agents)))
                edges += [("token" + at, full_ms + d, sends) for at, d in NEAR] * 3
        if edges and r.random() < 0.8:
            tag, now_ms, step = r.choice(edges)
            if step is not None and r.random() < 0.85:
                step.at = r.randrange(self.processes)
                self.queue += [*self._looks(step), step]
                if step.method == "complete_message":
                    self.queue.append(call(0, "get_agent_health", agent_id=step.params["agent_id"]))
        else:
            near = 1, 99, 100, 499, 1500, 3000, 60_000, 300_000, 10**7, -1, -500, -60_000
            now_ms = self.now_ms + r.choice((*near, -self.now_ms))  # or to the beginning of time
            tag = "clock back" if now_ms < self.now_ms else "clock forward"
        return Step("clock", params={"now_ms": min(max(now_ms, 0), 2**43)}, tags=(tag,))

    def _looks(self, step: Step) -> list[Step]:
        """Sometimes the agent concerned is looked at first; a look may find that the time was over."""
        agent = step.params.get("agent_id")
        if agent is None or self.r.random() < 0.6:
            return []
        looks = (
            call(0, "get_agent_health", agent_id=agent),
            call(0, "receive_messages", agent_id=agent, channels=self.channels),
            call(0, "cleanup_expired_messages"),
            call(0, "dead_letters"),
            call(0, "export_audit_trail"),
        )
        return [self.r.choice(looks)]

    def _due_edges(self, message: Message, agent: str, delivery: Delivery) -> list[tuple[str, int, Step | None]]:
        due = delivery.due.low_us if isinstance(delivery.due, Due) else delivery.due
        what = "claim" if delivery.status == "processing" else "retry"
        at_ms = -(-due // 1000)
        steps = [
            call(0, "claim_message", agent_id=agent, message_id=message.id),
            call(0, "receive_messages", agent_id=agent, channels=[message.channel], limit=100),
            call(0, "get_agent_health", agent_id=agent),
            call(0, "complete_message", ("late completion",), message_id=message.id, agent_id=agent),
        ]
        return [(what + at, at_ms + d, self.r.choice(steps)) for at, d in NEAR]

    def _after_expiry(self, message: Message) -> Step:
        agent = message.to or self.r.choice(self.agents)
        return self.r.choice(
            (
                call(0, "claim_message", ("claim what is expired",), agent_id=agent, message_id=message.id),
                call(0, "receive_messages", agent_id=agent, channels=[message.channel], limit=100),
                call(0, "cleanup_expired_messages", ("clean up",)),
            )
        )

    def _mischief(self) -> Step:
        """Restarts and strangers."""
        r, at = self.r, self.r.randrange(self.processes)
        what = r.random()
        if self.theme in ("export", "blob") and r.random() < 0.5:
            what = 0.6 if self.theme == "export" else 0.7
        if what < 0.45:
            return self._restart(at)
        if what < 0.55:
            return Step("open", at, params={"options": {}}, tags=("reopen",))
        if what < 0.65:
            return self._strange_line(at)
        if what < 0.8 and self.model.artifacts:
            return self._harm_artifact(at)
        return self._harm() if self.model.messages and r.random() < 0.5 else self._stranger()

    def _strange_line(self, at: int) -> Step:
        """Another program's, of any kind; what comes next in the trail must leave it there."""
        r = self.r
        self.serial += 1
        self.queue += [call(at, "export_audit_trail"), call("hand", "audit_lines")]
        if r.random() < 0.4:
            line = {"ts": 1, "event": "theirs", "n": self.serial, **({"id": "a b"} if r.random() < 0.5 else {})}
            return call("hand", "strangers_line", ("strangers' line",), line=line)
        if r.random() < 0.6:
            return call("hand", "strangers_text", ("strangers' line",), text=r.choice(LINES) + "\n")
        message = self._said(r.choice(self.agents), r.choice(self.agents))
        self.queue.insert(0, call(at, "send_message", **message))  # the next line stands on its own
        return call("hand", "strangers_text", ("strangers' line", "line without its end"), text=r.choice(LINES))

    def _harm_artifact(self, at: int) -> Step:
        """One is lost, changed or a link from now on; then it is read or replaced."""
        r = self.r
        path = r.choice(sorted(self.model.artifacts))
        agent, task, name = path.split("/")[2:]
        reads = [call(process, "read_artifact", artifact_path=path) for process in (0, 1)]
        writes = call(at, "write_artifact", agent_id=agent, task_id=task, content=1, name=name)
        self.queue += r.choice((reads, reads[:1], [writes], [*reads, writes, reads[0]]))
        kind = r.random()
        if kind < 0.4:
            return call("hand", "link_artifact", ("artifact linked",), artifact_path=path)
        if kind < 0.6:
            return call("hand", "spoil_artifact", ("lost artifact",), artifact_path=path, text=None)
        text = r.choice(("", "{", "nul", "7 7", '{"n": 1} x', "7", '{"n": 1}', ' {"n":1}\n'))
        return call("hand", "spoil_artifact", ("spoiled artifact",), artifact_path=path, text=text)

    def _harm(self) -> Step:
        """A stranger takes a message; a payload, or a letter, is damaged."""
        r, message = self.r, self.r.choice(self.model.messages)
        if self.model.letters and r.random() < 0.4:
            letter, member = r.choice(self.model.letters), r.choice(("payload", "channel", "from_agent", "version"))
            self.queue.append(call(0, "redrive", id=letter.id))
            return call("hand", "cut_letter", ("cut letter",), id=letter.id, member=member)
        if r.random() < 0.6:
            at, count = text_of(self.now_ms * 1000), r.choice((0, 1))
            self.queue.append(call(0, "claim_message", agent_id=message.to or self.agents[0], message_id=message.id))
            return call("hand", "stranger_claims", ("stranger's claim",), message_id=message.id, at=at, count=count)
        text = r.choice(("not json", "5", "[]", "null", "", '{"a":NaN}'))
        self.queue.append(call(0, "receive_messages", agent_id=message.to or self.agents[0], channels=self.channels))
        return call("hand", "spoil", ("spoiled payload",), message_id=message.id, text=text)

    def _stranger(self) -> Step:
        """A row by the seed's tables alone."""
        r = self.r
        row = {
            "id": str(uuid.UUID(int=r.getrandbits(128), version=4)),
            "type": "note",
            "timestamp": text_of(self.now_ms * 1000),
            "correlation_id": r.choice((None, "req-001", *LINKS)),
            "from_agent": "stranger",
            "to_agent": r.choice((None, *self.agents)),
            "channel": r.choice(self.channels),
            "priority": r.randint(1, 10),
            "payload": {"n": r.choice(ALIKE)},
        }
        self._tag("stranger")
        if r.random() < 0.4:
            row["expires_at"] = self._tag("stranger's ttl", text_of((self.now_ms + r.choice((0, 1, 10_000))) * 1000))
            self.queue.append(call(r.randrange(self.processes), "cleanup_expired_messages"))
        return call("hand", "stranger_sends", self.tags, row=row)

    def _race(self) -> Step:
        """Two processes at the same lock, mostly at the same thing."""
        if self.model.letters and self.r.random() < 0.25:
            return self._redrives_at_once()
        pure = ("validate_message", "retry_delays", "circuit_breaker", "send_with_retry", "request")
        drawn: list[Drawn] = []
        while len(drawn) < 2:
            self.tags.clear()
            method, params = self._operation()
            if method and method not in pure:
                drawn.append((method, params))
        (method, params), (other, others) = drawn
        if self.r.random() < 0.65:
            other, others = method, copied(params)
            for name in ("agent_id", "from_agent"):
                if name in others and self.r.random() < 0.5:
                    others[name] = self.r.choice(self.agents)
        elif self.r.random() < 0.6 and "message_id" in params:
            other, others = self.r.choice(
                (
                    ("complete_message", {"message_id": params["message_id"], "agent_id": self.r.choice(self.agents)}),
                    ("claim_message", {"message_id": params["message_id"], "agent_id": self.r.choice(self.agents)}),
                    ("cleanup_expired_messages", {}),
                    ("get_agent_health", {"agent_id": self.r.choice(self.agents)}),
                )
            )
        first, second = self.r.sample(range(self.processes), 2)
        calls = [Step("call", first, method, params), Step("call", second, other, others)]
        if "send" in method:  # only the order of their rows tells two of one moment apart
            self.queue += [self._looks_at_all(agent) for agent in self.agents]
        return Step("race", calls=calls, tags=("race",))

    def _redrives_at_once(self) -> Step:
        """Redrive one letter twice; if there is a third process, its agent comes in between."""
        letter = self.r.choice(self.model.letters)
        of = {"agent_id": letter.agent, "message_id": letter.message.id}
        comes = [self.r.choice(("claim_message", "claim_message", "complete_message"))] * (self.processes - 2)
        calls = [call(at, "redrive", id=letter.id) for at in (0, 1)]
        calls += [call(2, method, **of) for method in comes]
        self.queue += [call(0, "claim_message", **of), call(1, "get_agent_health", agent_id=letter.agent)]
        return Step("race", calls=calls, tags=("race", "redrive"))

    def _looks_at_all(self, agent: str) -> Step:
        return call(0, "receive_messages", agent_id=agent, channels=self.channels, limit=1000)

    def _wait(self) -> Step:
        """A reader waits; another process writes, for it or for somebody else."""
        if self.r.random() < 0.4:
            return self._answered()
        agent, other = self.agents[0], self.r.choice(self.agents)
        channel = self.r.choice(self.channels)
        to = self.r.choice((agent, agent, agent, None, other))
        waits = 0.2 if to not in (agent, None) else 5
        if to not in (agent, None):
            self._tag("waits in vain")
        first = call(0, "receive_messages", agent_id=agent, channels=[channel], limit=3, timeout_seconds=waits)
        sends = call(1, "send_message", **{**self._said(other, to), "channel": channel})
        passing = self.r.choice((0, 0, 0, 60))  # messages that are not for the reader come first, and wake it
        others = [call(1, "send_message", **self._said(f"passing {n}", "nobody")) for n in range(passing)]
        return Step("wait", calls=[first, *others, sends], tags=("wait", *self.tags))

    def _answered(self) -> Step:
        """A request whose answer comes after another request's answer. No other message may lie before the answerer."""
        self.serial += 1
        message = self._said(self.r.choice(self.agents), f"answerer {self.serial}", "context.query", {"query": "q"})
        asks = call(0, "request", **message, **self._way(), timeout_seconds=8)
        ids = [str(uuid.UUID(int=self.r.getrandbits(128), version=4)) for _ in range(2)]
        at = text_of(self.now_ms * 1000)
        answers = call("hand", "stranger_answers", agent_id=message["to_agent"], ids=ids, at=at)
        return Step("wait", calls=[asks, answers], tags=("wait", "answered request"))

    # -- calls

    def _operation(self) -> Drawn:
        """One of all operations, more often the theme's."""
        r, theme = self.r, self.theme
        weights: dict[Callable[[], Drawn], float] = {
            self._send: 14,
            self._retry: 5 if self.model.sent else 0,
            self._further: 16 if self.model.messages else 0,
            self._claim: 5,
            self._complete: 5,
            self._receive: 9,
            self._redrive: 2,
            self._subscription: 2,
            self._heartbeat: 2,
            self._health: 4,
            self._vote: 3,
            self._artifact: 3,
            self._answer: 4 if self.model.messages else 0,
            self._small: 5,
        }
        liked = {
            "lease": (self._claim, self._complete, self._further),
            "retry": (self._further, self._redrive),
            "broadcast": (self._further, self._receive, self._redrive),
            "expiry": (self._small, self._send, self._further),
            "votes": (self._vote,),
            "rate": (self._send, self._small),
            "route": (self._receive, self._send, self._subscription),
            "answers": (self._answer, self._send),
            "presence": (self._heartbeat, self._health, self._further),
            "blob": (self._artifact,),
            "ids": (self._retry, self._further),
        }.get(theme, ())
        for draw in liked:
            weights[draw] *= 4
        return r.choices(list(weights), list(weights.values()))[0]()

    def _payload(self) -> dict[str, Any]:
        r = self.r
        kind = r.random()
        if kind < 0.5:
            return {"n": self._tag("look-alike", r.choice(ALIKE))}
        if kind < 0.7:
            self._tag("falsy")
            falsy: tuple[Any, ...] = ("", None, 0, False, [], {})
            return {r.choice(("", "a")): r.choice(falsy)} if r.random() < 0.8 else {}
        if kind < 0.97:
            return {r.choice(("a", "b", "\u00e9", "e\u0301")): r.choice(ALIKE) for _ in range(2)}
        if r.random() < 0.15:
            levels = LEVELS_MAX + r.choice((0, 1))
            deep: Any = {}
            for _ in range(levels - 2):
                deep = [deep]
            return {"deep": self._tag(f"{levels} levels", deep)}
        fill = r.choice(FILLS)
        if r.random() < 0.05:
            plus = r.choice((0, 0, 1))
            size = int(BOUND_OF["payload"].high) + plus
            self._tag("4 MiB + 1" if plus else "4 MiB")
        else:
            size = r.choice((4096, 10_240, 70_000, 70_000, 300_000))
            if fill != "x":
                self._tag("wide characters")
        room, width = size - len(json.dumps({"text": ""})), len(json.dumps(fill)) - 2
        return {"text": fill * (room // width) + "y" * (room % width)}

    def _way(self) -> dict[str, Any]:
        """A channel and a priority, or neither."""
        r = self.r
        return {"channel": r.choice(self.channels), "priority": r.randint(1, 10)} if r.random() < 0.4 else {}

    def _said(self, sender: str, to: str | None, kind: str = "note", payload: Any = None) -> dict[str, Any]:
        message: dict[str, Any] = {
            "from_agent": sender,
            "message_type": kind,
            "payload": {} if payload is None else payload,
        }
        return message if to is None else {**message, "to_agent": to}

    def _send(self) -> Drawn:
        """A new message."""
        r = self.r
        sender = self.agents[0] if self.theme == "rate" and r.random() < 0.8 else r.choice(self.agents)
        to = None if r.random() < (0.7 if self.theme == "broadcast" else 0.25) else r.choice(self.agents)
        self._tag("broadcast") if to is None else self._tag("to oneself") if to == sender else None
        message = self._said(sender, to, "note" if r.random() < 0.8 else r.choice(TYPES), self._payload())
        if r.random() < 0.12:
            message["message_type"], message["payload"] = self._standard()
        if r.random() < 0.45:
            message["channel"] = r.choice(self.channels)
            if message["channel"] == "urgent":
                self._tag("urgent")
        if r.random() < 0.4:
            message["priority"] = priority = r.choice((*range(1, 11), 10, *((0, 11) if r.random() < 0.1 else ())))
            if priority in (0, 1, 10, 11):
                self._tag(f"priority {priority}")
        if r.random() < (0.6 if self.theme == "expiry" else 0.15):
            message["ttl_seconds"] = r.choice((None, *TTLS_S))
            self._tag({None: "no expiry", 0: "ttl 0"}.get(message["ttl_seconds"], "own ttl"))
        if r.random() < 0.2:
            message["correlation_id"] = r.choice(LINKS)
        if r.random() < (0.6 if self.theme == "ids" else 0.15):
            message["message_id"] = self._tag("given id", r.choice(self.ids))
            if r.random() < 0.2:
                message["message_id"] = self._tag("id in upper case", message["message_id"].upper())
        if any(m.at_us == self.now_ms * 1000 for m in self.model.messages):
            self._tag("tie")
        if self.model.buckets.get(sender, (1, 0))[0] < 1:
            self._tag("empty bucket")
        return "send_message", message

    def _standard(self) -> tuple[str, dict[str, Any]]:
        r, samples = (
            self.r,
            {"text": "x", "texts": ["x", ""], "number": 0.5, "object": {}, "time": "2099-01-01T00:00:00Z"},
        )
        kind = r.choice([name for name in STANDARD if not name.startswith("vote")])
        members = STANDARD[kind][1]
        payload = {
            m.removesuffix("?"): samples[of] for m, of in members.items() if not m.endswith("?") or r.random() < 0.6
        }
        self._tag("standard type")
        if r.random() < 0.4:
            self._tag("broken standard type")
            name = r.choice(sorted(payload))
            if r.random() < 0.5:
                del payload[name]
            else:
                payload[name] = r.choice((None, 5, True, "5", ["x", 5], {}))
        elif r.random() < 0.3:
            payload["more"] = None
        return kind, payload

    def _retry(self) -> Drawn:
        """An earlier message, to the letter or with one thing changed."""
        r, old = self.r, self.r.choice(self.model.sent[-8:])
        message = self._as_said(old)
        self._tag("retry")
        if isinstance(old.id, Free):
            self._tag("id of the bus")
        if any(letter.message.id is old.id or letter.message.id == old.id for letter in self.model.letters):
            self._tag("retry of a dead letter")
        elif self.model.by_id(plain(old.id)) is None:
            self._tag("retry of what was cleaned up")
        elif any(d.status == "done" for d in old.deliveries.values()):
            self._tag("retry of what is done")
        if self.model.buckets.get(old.sender, (1, 0))[0] < 1:
            self._tag("retry with an empty bucket")
        if old.type == "vote.cast" and any(v.deadline_us <= self.now_ms * 1000 for v in self.model.votes):
            self._tag("retry after the vote")
        change = r.random()
        if change < 0.2:
            message["payload"] = self._tag("retry with another payload", {**message["payload"], "n": r.choice(ALIKE)})
        elif change < 0.45:
            self._tag("retry with another field")
            name, value = r.choice(
                (
                    ("from_agent", r.choice(self.agents)),
                    ("to_agent", r.choice((None, *self.agents))),
                    ("message_type", "note2"),
                    ("channel", r.choice(self.channels)),
                    ("priority", r.choice((4, 6))),
                    ("correlation_id", r.choice((None, "req-002"))),
                )
            )
            message[name] = value
        elif change < 0.55:
            message["ttl_seconds"] = r.choice((None, 5))
        return "send_message", message

    def _as_said(self, old: Message) -> dict[str, Any]:
        message = {
            "from_agent": old.sender,
            "to_agent": old.to,
            "message_type": old.type,
            "payload": old.payload,
            "channel": old.channel,
            "priority": old.priority,
            "correlation_id": old.correlation_id,
        }
        return {**{name: value for name, value in message.items() if value is not None}, "message_id": old.id}

    def _further(self) -> Drawn:
        """One message, one step further on its way to the end."""
        r = self.r
        message, agent = self._on_its_way()
        delivery = message.deliveries.get(agent, Delivery())
        there = delivery.there(self.now_ms * 1000)
        if delivery.status == "processing" and not there:
            if r.random() < 0.25 or self.theme not in ("retry", "broadcast", "presence"):
                return "complete_message", self._completion(message, agent)
            if delivery.failures == 2:
                self._tag("third failure")
            return "complete_message", {**self._completion(message, agent), "error": self._error(agent)}
        if delivery.status == "failed" and not there and r.random() < 0.8:
            due = delivery.due.high_us if isinstance(delivery.due, Due) else delivery.due
            self.queue.append(Step("clock", params={"now_ms": min(-(-due // 1000), 2**43)}, tags=("retry+0",)))
            self.queue.append(call(0, "claim_message", agent_id=agent, message_id=message.id))
            return "get_agent_health", {"agent_id": agent}
        if delivery.status in ("done", "dead"):
            self._tag("claim what is done")
        return "claim_message", {"agent_id": agent, "message_id": message.id}

    def _on_its_way(self) -> tuple[Message, str]:
        """Mostly the one that has failed most often, for only the third failure buries."""
        r, messages = self.r, self.model.messages[-6:]
        open_ones = [
            (delivery.failures, number, agent)
            for number, message in enumerate(messages)
            for agent, delivery in message.deliveries.items()
            if delivery.status not in ("done", "dead")
        ]
        if open_ones and r.random() < 0.7:
            _, number, agent = max(open_ones)
            return messages[number], agent
        message = r.choice(messages)
        return message, message.to or r.choice(self.agents)

    def _error(self, agent: str) -> str:
        self.serial += 1
        if self.r.random() < 0.03:
            size = int(BOUND_OF["error"].high) + self.r.choice((0, 0, 1))
            return str(self._tag(f"{size} characters", self.r.choice(FILLS[:4]) * size))
        if self.r.random() < 0.25:
            lines = self.r.choice(("it broke\nin line 7\n", "\n", "\ttab\x01", "\u6f22" * 700))
            return str(self._tag("error of lines", f"{lines}{self.serial}"))
        return f"{self.r.choice(('it broke', '0', 'e' * 300))} {agent[:20]} {self.serial}"

    def _completion(self, message: Message, agent: str) -> dict[str, Any]:
        r, delivery = self.r, message.deliveries.get(agent, Delivery())
        params: dict[str, Any] = {"message_id": message.id}
        if message.to is None or r.random() < 0.7:
            params["agent_id"] = agent
        if r.random() < 0.4 and delivery.count:
            params["delivery_count"] = delivery.count
        return params

    def _claim(self) -> Drawn:
        """Any message, by any agent."""
        r, agent = self.r, self.r.choice(self.agents)
        if not self.model.messages or r.random() < 0.06:
            gone = [m.id for m in self.model.sent]
            unknown = self._tag("claim of an unknown id", r.choice([*gone, self.ids[0], "x"]))
            return "claim_message", {"agent_id": agent, "message_id": unknown}
        message = r.choice(self.model.messages)
        if not message.is_for(agent):
            self._tag("claim another's")
        elif message.deliveries.get(agent, Delivery()).status == "processing":
            self._tag("claim again")
        elif message.deliveries.get(agent, Delivery()).status == "done":
            self._tag("claim what is done")
        spoiled = isinstance(message.id, Free) and r.random() < 0.05
        return "claim_message", {
            "agent_id": agent,
            "message_id": changed(message.id, how="upper") if spoiled else message.id,
        }

    def _complete(self) -> Drawn:
        """By the holder, by others, late, with an old count."""
        r = self.r
        if (not self.model.messages or r.random() < 0.1) and self.model.letters:
            letter = r.choice(self.model.letters)
            return "complete_message", self._tag(
                "completes a dead letter", {"message_id": letter.message.id, "agent_id": letter.agent}
            )
        if not self.model.messages:
            return "complete_message", self._tag("nobody's", {"message_id": self.ids[0]})
        held = [m for m in self.model.messages if any(d.count for d in m.deliveries.values())]
        message = r.choice(held if held and r.random() < 0.8 else self.model.messages)
        agent = message.to or r.choice([*message.deliveries, *self.agents])
        if r.random() < 0.12:
            agent = self._tag("completes another's", r.choice(self.agents))
        params = self._completion(message, agent)
        delivery = message.deliveries.get(agent, Delivery())
        if delivery.count == 0:
            self._tag("nobody's")
        elif delivery.status in ("done", "failed"):
            self._tag("completes what is over")
        elif delivery.there(self.now_ms * 1000):
            self._tag("late completion")
        if r.random() < 0.15:
            count = delivery.count + r.choice((-1, 1))
            if count > 0:
                params["delivery_count"] = self._tag(
                    "stale count" if count < delivery.count else "count to come", count
                )
        if r.random() < 0.35:
            params["error"] = self._error(agent)
            if delivery.failures == 2:
                self._tag("third failure")
        if message.to is None and r.random() < 0.05:
            params.pop("agent_id", None)
        return "complete_message", params

    def _receive(self) -> Drawn:
        """Some channels, few or many."""
        r, agent = self.r, self.r.choice(self.agents)
        channels: list[Any] = r.sample(self.channels, r.choice((1, 2, 3, 3)))
        if len(channels) == 2:
            self._tag("two channels")
        if r.random() < 0.06:
            channels = self._tag("a channel twice", [*channels, channels[0]])
        if r.random() < 0.05:
            others = r.choice((7, 40, 1000 - len(channels)))
            channels = self._tag("many channels", [*(f"other {n}" for n in range(others)), *channels])
        if r.random() < 0.03:
            channels = self._tag("no channels", [])
        params: dict[str, Any] = {"agent_id": agent, "channels": channels}
        there = len(self.model.listing(agent, channels))
        if r.random() < 0.6:
            named = (
                ("limit 0", 0),
                ("limit 1", 1),
                ("as many as there are", there),
                ("one more than there are", there + 1),
            )
            tag, params["limit"] = r.choice((*named, ("", 100), ("", 2), ("", max(there - 1, 0))))
            if tag:
                self._tag(tag)
        if r.random() < 0.05:
            params["timeout_seconds"] = r.choice((0, 0.0, 0.02))
        return "receive_messages", params

    def _redrive(self) -> Drawn:
        """A letter that is there, one that was, or none."""
        letters = self.model.letters
        if not letters or self.r.random() < 0.15:
            name = self.r.choice([m.id for m in self.model.sent] + [self.ids[0]])
            return "redrive", self._tag("redrive unknown", {"id": name})
        letter = self.r.choice(letters)
        if letter.message.to is None:
            living = self.model.by_id(plain(letter.message.id)) is not None
            expired = letter.message.is_expired(self.now_ms * 1000)
            self._tag("redrive of an expired broadcast" if expired or not living else "redrive of a living broadcast")
            if living and letter.message.expires_us is not None and self.r.random() < 0.4:
                at_ms = min(letter.message.expires_us // 1000, 2**43)
                self.queue += [call(0, "redrive", ("redrive of an expired broadcast",), id=letter.id)]
                self.queue += [call(1, "receive_messages", agent_id=who, channels=self.channels) for who in self.agents]
                return "", {"now_ms": at_ms}
        if self.r.random() < 0.25:
            self.queue.append(call(0, "redrive", ("redrive twice",), id=letter.id))
        return "redrive", self._tag("redrive", {"id": letter.id})

    def _subscription(self) -> Drawn:
        r, params = self.r, {"agent_id": self.r.choice(self.agents), "channel_name": self.r.choice(self.channels)}
        method = r.choice(("subscribe_to_channel", "subscribe_to_channel", "unsubscribe_from_channel", ""))
        return (method, params) if method else ("get_subscribed_channels", {"agent_id": params["agent_id"]})

    def _heartbeat(self) -> Drawn:
        r = self.r
        params: dict[str, Any] = {"agent_id": r.choice(self.agents), "status": r.choice(STATUSES)}
        if r.random() < 0.12:
            params["status"] = self._tag("bad status", r.choice(("Active", "dead", "", "active ", "working")))
        if r.random() < 0.5:
            params["current_task"] = r.choice(("t", "0", "k" * 1024, None, "\u00e9"))
        return "send_heartbeat", params

    def _health(self) -> Drawn:
        if self.r.random() < 0.06:
            return "get_agent_health", self._tag("never seen", {"agent_id": "nobody"})
        return "get_agent_health", {"agent_id": self.r.choice(self.agents)}

    def _vote(self) -> Drawn:
        """Open one, cast, count."""
        r, votes = self.r, self.model.votes
        kind, who = r.random(), r.choice(self.agents)
        if not votes or kind < 0.15:
            self._tag("vote")
            options = r.choice((["x", "y"], ["x", "X"], ["0", ""], ["x", "y", "z"], ["x"], [], ["x", "x"], ["x", "y"]))
            if r.random() < 0.2:
                long = r.choice(FILLS[:4]) * 1023
                many = r.choice(([f"option {n}" for n in range(r.choice((11, 101)))], [f"{long}{n}" for n in range(5)]))
                options = self._tag("many options", many)
            at = text_of((self.now_ms + r.choice((1, 1000, 60_000, 60_000, 0, -1))) * 1000)
            moved_us = self.now_ms * 1000 + 2 * 3_600_000_000
            elsewhere = text_of(moved_us + r.choice((1, 60)) * 1_000_000).replace("Z", "+02:00")
            at = r.choice((at, at, at.replace("Z", "+00:00"), elsewhere, elsewhere, at.split(".")[0], "soon"))
            to = self._tag("directed vote", r.choice(self.agents)) if r.random() < 0.25 else None
            message = self._said(who, to, "vote.initiate", {"topic": "t", "options": options, "deadline": at})
            message |= {**self._way(), **({"ttl_seconds": r.choice((None, 1, 60))} if r.random() < 0.3 else {})}
            if r.random() < 0.25:
                message["message_id"] = self._tag("id in upper case", r.choice(self.ids).upper())
            return "send_message", message
        vote = r.choice(votes)
        if kind < 0.4:
            if len(vote.casts) > 1 and len(set(vote.casts.values())) > 1:
                self._tag("tie vote")
            if r.random() < 0.1:
                return "tally", {"vote_id": self._tag("no vote", r.choice(("x", *(m.id for m in self.model.sent))))}
            return "tally", {"vote_id": self._in_other_letters(vote.id) if r.random() < 0.1 else vote.id}
        if r.random() < 0.06:
            for n in range(r.choice((3, 8, 30))):
                cast = {"vote_id": vote.id, "option": r.choice(vote.options)}
                casts = self._said(f"voter {n}", None, "vote.cast", cast)
                self.queue.append(call(r.randrange(self.processes), "send_message", ("many votes",), **casts))
            self.queue.append(call(0, "tally", vote_id=vote.id))
            return "tally", {"vote_id": vote.id}
        self._tag("cast")
        if who in vote.casts:
            self._tag("cast again")
        if self.now_ms * 1000 >= vote.deadline_us:
            self._tag("cast late")
        payload: dict[str, Any] = {"vote_id": vote.id, "option": r.choice(vote.options)}
        if r.random() < 0.12:
            payload["option"] = self._tag("no option", r.choice(("w", "X ", vote.options[0].upper() + "_")))
        if r.random() < 0.08:
            payload["vote_id"] = self._tag("no vote", r.choice((*self.ids, *(m.id for m in self.model.sent))))
        elif r.random() < 0.05:
            payload["vote_id"] = self._in_other_letters(vote.id)
        if r.random() < 0.3:
            payload["reasoning"] = r.choice(("because", "", "\u6f22" * 2000, None))
        to = self._newcomer() if r.random() < 0.15 else r.choice((None, *self.agents))
        return "send_message", self._said(who, to, "vote.cast", payload)

    def _in_other_letters(self, name: Any) -> Any:
        self._tag("vote in other letters")
        return changed(name, how="upper") if isinstance(name, Free) else name.swapcase()

    def _newcomer(self) -> str:
        """An agent that nobody has named: of a call that is refused, nothing may stay that the next calls show."""
        self.serial += 1
        name = f"new {self.serial}"
        self._tag("newcomer")
        self.queue += [call(number, "get_agent_health", agent_id=name) for number in (0, 1)]
        self.queue += [call(number, "send_message", **self._said(self.agents[0], name)) for number in (0, 1)]
        self.queue += [call(number, "get_agent_health", agent_id=name) for number in (0, 1)]
        return name

    def _artifact(self) -> Drawn:
        """Write, replace, read, and read an artifact that is not there."""
        r, known = self.r, sorted(self.model.artifacts)
        if known and r.random() < 0.5:
            path = r.choice(known)
            if r.random() < 0.3:
                spoiled = (
                    path + "/",
                    path.upper(),
                    path[1:],
                    "../" + path,
                    path.replace("artifacts/", "artifacts/../artifacts/"),
                )
                more = (path.replace(".claude/", ".claude//"), "/etc/passwd", path.rpartition("/")[0], "./" + path)
                path = self._tag("path elsewhere", r.choice((*spoiled, *more)))
            return "read_artifact", {"artifact_path": path}
        agent, task = r.choice(self.agents), r.choice(("t1", "T1", "t 2", *self.agents))
        if r.random() < 0.15:
            return "read_artifact", self._tag(
                "no artifact", {"artifact_path": f".claude/artifacts/{agent}/{task}/none"}
            )
        content = self._payload() if r.random() < 0.3 else r.choice((*ALIKE, "\ud800", {"a": float("1e300")}))
        params = {"agent_id": agent, "task_id": task, "content": content}
        if r.random() < 0.5:
            params["name"] = r.choice(FILES)
        if any(path.startswith(f".claude/artifacts/{agent}/{task}/") for path in known):
            self._tag("artifact replaced")
        return "write_artifact", params

    def _answer(self) -> Drawn:
        """To a request, by its addressee or by another; or an earlier answer, once more."""
        if self.answers and self.r.random() < 0.2:
            return "send_response", self._tag("answer again", copied(self.r.choice(self.answers)))
        r, message = self.r, self.r.choice(self.model.messages)
        original = self._envelope(message)
        agent: Any = message.to or r.choice(self.agents)
        self._tag("answer" if message.to else "answer to a broadcast")
        if self.model.buckets.get(agent, (1, 0))[0] < 1:
            self._tag("answer with an empty bucket")
        payload: dict[str, Any] = {"context": {}} if message.type == "context.query" else {"ok": True}
        params: dict[str, Any] = {"original_message": original, "response_payload": payload}
        if message.to is None or r.random() < 0.4:
            params["agent_id"] = agent
        if r.random() < 0.12:
            params["agent_id"] = self._tag("answer by another", r.choice(self.agents))
        if r.random() < 0.08:
            params.pop("agent_id", None)
            self._tag("answer of nobody")
        if r.random() < 0.3:
            path = self._tag("artifact told", f".claude/artifacts/{agent}/t/result.json")
            params["artifact_path"] = path
            if r.random() < 0.3:
                bad: tuple[Any, ...] = (
                    "/etc/passwd",
                    "result.json",
                    ".claude/artifacts/../x",
                    f".claude/artifacts/{agent}/t/..",
                    "",
                    5,
                    ".claude/communications/messages.db",
                )
                params["artifact_path"] = self._tag("bad artifact path", r.choice(bad))
        if r.random() < 0.2:
            params["message_id"] = str(r.choice(self.ids))
            self.answers.append(copied(params))
        if r.random() < 0.1:
            self._tag("not an envelope")
            original.pop(
                r.choice(("id", "type", "version", "timestamp", "from_agent", "channel", "priority", "payload"))
            )
        return "send_response", params

    def _envelope(self, message: Message) -> dict[str, Any]:
        whole = {
            "id": message.id,
            "type": message.type,
            "version": "1.0",
            "timestamp": text_of(message.at_us),
            "correlation_id": message.correlation_id,
            "from_agent": message.sender,
            "to_agent": message.to,
            "channel": message.channel,
            "priority": message.priority,
            "payload": message.payload,
        }
        optional = ("correlation_id", "to_agent")
        return {k: v for k, v in whole.items() if v is not None or k not in optional or self.r.random() < 0.5}

    def _small(self) -> Drawn:
        """A call that stands for itself."""
        r = self.r
        weights = {"cleanup_expired_messages": 5, "dead_letters": 3, "export_audit_trail": 2, "circuit_breaker": 1}
        weights |= {"retry_delays": 1, "validate_message": 3, "request": 2, "send_with_retry": 2}
        method = r.choices(list(weights), list(weights.values()))[0]
        if method == "cleanup_expired_messages":
            self._tag("clean up")
            if any(m.is_expired(self.now_ms * 1000) and not self.model.is_to_go(m) for m in self.model.messages):
                self._tag("held past its time")
        elif method == "export_audit_trail":
            self.queue.append(call("hand", "audit_lines"))
        elif method == "circuit_breaker":
            return method, self._breaker()
        elif method == "retry_delays":
            return method, {
                "max_attempts": r.choice((1, 2, 3, 5, 100, 0, 101)),
                "base_delay": r.choice((0, 0.5, 1.0, 3, -1)),
                "jitter": r.choice((0.5, 1.0, 1.5)),
            }
        elif method == "validate_message":
            return method, {"message": self._candidate()}
        elif method == "request":
            self._tag("unanswered request")
            message = self._said(r.choice(self.agents), r.choice(self.agents), "context.query", {"query": "q"})
            return method, {**message, **self._way(), "timeout_seconds": 0}
        elif method == "send_with_retry":
            self._tag("patience")
            message = self._said(self.agents[0], r.choice(self.agents))
            if r.random() < 0.6:
                sends, any_said = r.choice((self._send, self._retry if self.model.sent else self._send, self._vote))()
                message = self._tag("any send, with patience", any_said) if sends == "send_message" else message
            return method, {**message, "max_attempts": r.choice((1, 2, 3, 3)), "base_delay": r.choice((0, 0.001, 0.05))}
        return method, {}

    def _breaker(self) -> dict[str, Any]:
        r, at_ms, events = self.r, 0, []
        for _ in range(r.choice((4, 8, 14, 20))):
            at_ms += r.choice((0, 0, 1, 59_999, 60_000, 60_001))
            events.append({"at_ms": at_ms, "event": r.choice(("call", "failure", "failure", "failure", "success"))})
        return self._tag("breaker", {"events": events})  # type: ignore[no-any-return]

    def _candidate(self) -> Any:
        """An envelope with no fault, one, or several."""
        r = self.r
        whole: dict[str, Any] = {
            "id": self.ids[0],
            "type": "note",
            "version": "1.0",
            "timestamp": r.choice(("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5+02:00")),
            "from_agent": self.agents[0],
            "channel": "c1",
            "priority": r.choice((1, 5, 10)),
            "payload": {},
        }
        if r.random() < 0.4:
            whole |= {"to_agent": r.choice((None, "b")), "correlation_id": r.choice((None, "req-001"))}
        faults = r.choice((0, 1, 1, 1, 2, 3))
        self._tag({0: "valid envelope", 1: "not an envelope"}.get(faults, "two faults"))
        for name in r.sample(sorted(whole), faults):
            if r.random() < 0.4:
                del whole[name]
            else:
                whole[name] = r.choice((5, True, "", None, [], 0, 11, 5.0, "5", "1.1", "yesterday", {"a": 1}))
        return whole if r.random() < 0.96 else r.choice(([], "x", None, 5))

    def _spoiled(self) -> Step:
        """A good call with one parameter wrong, missing or too many."""
        r = self.r
        method, params = self._operation()
        if not method:
            return self._call(method, params)
        params = {**params}
        self.tags.clear()
        how = r.random()
        if how < 0.15 or not params:
            params[r.choice(("x", "agent", "limit_"))] = self._tag("no such field", 1)
        elif how < 0.3:
            name = r.choice(sorted(params))
            del params[name]
            self._tag("field missing")
        else:
            key = r.choice(sorted(params.keys() | CONTRACT.methods[method].params.model_fields.keys()))
            if method == "send_response" and key == "agent_id":
                key = "response_payload"  # a bad name is also another agent's: either refusal is right
            if key == "events":
                events: tuple[Any, ...] = (
                    [5],
                    [{"at_ms": 0}],
                    [{"at_ms": -1, "event": "call"}],
                    [{"at_ms": 0, "event": "x"}],
                    "x",
                    {},
                )
                params[key] = self._tag("junk", r.choice(events))
            elif key == "original_message":
                params[key] = self._tag("not an envelope", r.choice((5, [], None, {}, "x")))
            elif key == "artifact_path":
                params[key] = self._tag("path elsewhere", r.choice(("/etc/passwd", "", 5, "a/../b")))
            elif (
                bound := dict(CONTRACT.bounds_of(method)).get(key, BOUND_OF.get(key))
            ) is not None and bound.kind.wrong:
                tag = {NAME: "bad name", TEXT: "bad text"}.get(bound.kind, "junk")
                params[key] = self._tag(tag, r.choice(bound.refused))
            else:
                params[key] = self._tag("junk", r.choice(JUNK))
        if method == "request":
            params["timeout_seconds"] = params.get("timeout_seconds") if params.get("timeout_seconds") == -1 else 0
        return self._call(method, params)


def _things(method: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("agent_id", "from_agent", "to_agent"):
        if type(params.get(name)) is str:
            yield "agent", params[name]
    for name in ("message_id", "vote_id", "id"):
        if type(params.get(name)) is str:
            yield "message", params[name]
    yield "store", ""


def _conditions(model: CommsModel, called: Called) -> Iterator[str]:
    now_us = called.now_ms * 1000
    agent = called.params.get("agent_id", called.params.get("from_agent"))
    wanted = called.params.get("message_id", called.params.get("id"))
    kept = ("letters", "votes", "linked", "damaged", "strangers", "subscriptions")
    yield from (name for name in kept if getattr(model, name))
    if type(wanted) is str and any(plain(letter.message.id) == wanted for letter in model.letters):
        yield "has a letter"
    for message in model.messages if type(wanted) is str and isinstance(agent, str | None) else ():
        if plain(message.id) == wanted:
            yield from _of_message(message, agent, now_us)
    if type(agent) is str:
        ready = [m for m in model.messages if m.is_for(agent) and (d := m.deliveries.get(agent)) and d.there(now_us)]
        yield "several ready" if len(ready) > 1 else "one ready" if ready else "none ready"
        yield "is known" if agent in model.agents else "is new"
        if (bucket := model.buckets.get(agent)) is not None:
            yield "tokens are short" if bucket[0] < 2 else "tokens were spent"


def _of_message(message: Message, agent: Any, now_us: int) -> Iterator[str]:
    yield "is a broadcast" if message.to is None else "is the caller's" if message.to == agent else "is another's"
    yield from ["was redriven"] * (message.created_us != message.at_us) + ["is spoiled"] * message.is_spoiled
    if message.expires_us is not None:
        yield "ttl is over" if message.is_expired(now_us) else "ttl goes on"
    others = {delivery.status for who, delivery in message.deliveries.items() if who != agent}
    yield from (f"another's is {status}" for status in others)
    delivery = message.deliveries.get(agent)
    if delivery is not None:
        yield f"is {delivery.status}, {'there' if delivery.there(now_us) else 'not there'}"
        yield f"{delivery.failures} failures"
        yield f"{min(delivery.count, 4)} deliveries"


METHODS = tuple(name for name, method in CONTRACT.methods.items() if method.noun is not None)

SPECIFICATION = Specification(
    "comms", CommsModel, CommsHand, CommsGenerator, _things, EDGES, METHODS, conditions=_conditions
)
