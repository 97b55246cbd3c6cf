"""Programs for `mailbox`: three processes, each an agent of its own, and now and then one works as another.

The calls that matter now are drawn from the model's state. A step that was drawn for an edge says so in a tag; `EDGES`
lists them all, and the corpus must hold each.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from busproof.bus.hand import Hand
from busproof.contract.mailbox import CONTRACT
from busproof.oracle.models.mailbox import MailboxModel
from busproof.oracle.models.mailbox_parts import Job
from busproof.oracle.models.spec import plain
from busproof.play.explore.drawing import Drawing
from busproof.play.explore.orders import Called
from busproof.play.explore.script import Step, call, copied
from busproof.play.explore.stage import Specification

# Names that fall together in a prefix, a pattern or a number.
AGENTS = ("ann", "ann2", "bob", "an", "nn", "a", "b1", "b01", "x", "null", "true", "all", "con")
PROCESSES = 3
QUEUES, NAMES, KEYS = ("build", "build2", "q"), ("door", "door2", "d"), ("k1", "k2", "K1", "k1 b")
BODIES = (
    *("hello", "Hello", "0", "-n", "--help", "$body", "${x}", "%s", "'", '"', "{}", "null", "true", '{"a": 1}', "[]"),
    *("a\nb", "a b", " a", "a ", "\\n", "\\", "`ls`", "$(ls)", "a;b", "caf\u00e9", "cafe\u0301", "\U0001f600"),
    *("\u6f22\u5b57", "<b>", "&amp;", "# a", "x" * 300, "x" * 5_000, "a\n\nb\n", "1e999", "@all", "*", "a,b", "a\tb"),
)
SHORT_MS, LONG_MS = (1, 2, 1_000, 60_000), 3_600_000
THREADS = ("t1", "T1", "caf\u00e9", "t 1")
EDGES = (
    *("odd body", "same body", "broadcast", "own message", "key again", "key, other content", "another's key"),
    *("thread", "reply", "priority", "base", "used base", "largest body", "body too large", "full inbox"),
    *("limit below", "limit at", "position", "old position", "ack of some", "ack of all", "another's message"),
    *("wait", "wait in vain", "late reader", "as another", "restart", "kill", "due - 1 ms", "due", "long ago"),
    *("held", "another's claim", "old token", "done", "back", "dead"),
)


class MailboxGenerator(Drawing):
    """Draws the steps of one program."""

    def __init__(self, rng: random.Random, features: frozenset[str]) -> None:
        super().__init__(rng, features)
        self.agents = rng.sample(AGENTS, PROCESSES)
        self.late = [rng.choice([name for name in AGENTS if name not in self.agents])]
        self.queues, self.names = rng.sample(QUEUES, 2), rng.sample(NAMES, 2)

    def start(self) -> Iterator[Step]:
        """Processes on one store; each agent has received once, so it has an inbox."""
        for at in range(PROCESSES):
            yield Step("open", at)
        for at, name in enumerate(self.agents):
            yield call(at, "receive", agent_id=name)

    def end(self) -> Iterator[Step]:
        """A last look at everything."""
        for at, name in enumerate(self.agents):
            yield call(at, "unacked", agent_id=name)
            yield call(at, "receive", agent_id=name)

    def draw(self, model: Any, now_ms: int) -> Step:
        """The next step."""
        self.model: MailboxModel = model
        self.now_ms, self.tags = now_ms, []
        what = self.r.random()
        if what < 0.03:
            return self._restart(self.r.randrange(PROCESSES))
        if what < 0.1:
            return self._clock()
        if what < 0.104 and self.model.has("wait"):
            return self._wait()
        if what < 0.11 and self.late:
            return call(self.r.randrange(PROCESSES), "receive", ("late reader",), agent_id=self._join())
        draws: list[tuple[Callable[[int, str], Step], int]] = [(self._send, 20), (self._receive, 14)]
        draws += [(self._ack, 14)] * self.model.has("ack") + [(self._unacked, 3)] * self.model.has("unacked")
        draws += [(self._claim, 6), (self._hold, 6)] * self.model.has("lease")
        draws += [(self._put, 7), (self._take, 8), (self._settle, 8)] * self.model.has("jobs")
        draws += [(self._dead, 2)] * self.model.has("jobs", "dead_letter")
        at = self.r.randrange(PROCESSES)
        agent = self.agents[at] if self.r.random() < 0.9 else self._tag("as another", self.r.choice(self.agents))
        (make,) = self.r.choices([way for way, _ in draws], [weight for _, weight in draws])
        return make(at, agent)

    def _step(self, at: int, method: str, **params: Any) -> Step:
        return call(at, method, self.tags, **{name: value for name, value in params.items() if value is not None})

    def _join(self) -> str:
        self.agents.append(self.late.pop())
        return self.agents[-1]

    def _clock(self) -> Step:
        """To the moment when something ends, or a millisecond before; or far on."""
        due = [claim.until_ms for claim in self.model.claims.values()]
        due += [job.until_ms for jobs in self.model.jobs.values() for job in jobs if not job.is_done]
        if "ttl_ms" in self.model.limits:
            due += [message.at_ms + self.model.limits["ttl_ms"] for message in self.model.messages]
        ahead = [end_ms for end_ms in due if end_ms is not None and end_ms > self.now_ms]
        if ahead and self.r.random() < 0.8:
            until = self.r.choice(ahead)
            is_before = self.r.random() < 0.3
            now_ms = self._tag("due - 1 ms" if is_before else "due", until - is_before)
        else:
            now_ms = self._tag("long ago", self.now_ms + self.r.choice((1, 500, LONG_MS, 30 * 24 * LONG_MS)))
        return Step("clock", params={"now_ms": int(now_ms)}, tags=tuple(self.tags))

    def _wait(self) -> Step:
        """One waits for a message, which another one sends; or nobody does."""
        at, other = self.r.sample(range(PROCESSES), 2)
        if self.r.random() < 0.3 and not self.model.waiting(self.agents[at]):
            return call(at, "receive", ("wait in vain",), agent_id=self.agents[at], wait_ms=self.r.choice((1, 60)))
        waiting = call(at, "receive", agent_id=self.agents[at], wait_ms=4_000)
        bringing = call(other, "send", agent_id=self.agents[other], to=self.agents[at], body="news")
        return Step("wait", calls=[waiting, bringing], tags=("wait",))

    # -- messages

    def _send(self, at: int, agent: str) -> Step:
        others = [name for name in self.agents if name != agent]
        to: str | None = self.r.choice(others)
        if self.model.has("broadcast") and self.r.random() < 0.2:
            to = self._tag("broadcast")
        elif self.model.has("self_delivery") and self.r.random() < 0.1:
            to = self._tag("own message", agent)
        if to is not None and to in self.model.inboxes and self.model.is_full(to):
            self._tag("full inbox")
        more: dict[str, Any] = {"body": self._body()}
        if self.model.has("key") and self.r.random() < 0.3:
            more["key"] = self.r.choice(KEYS)
            if self.r.random() < 0.6:
                return self._again(at, agent, {"to": to, **more})
        if self.model.has("threads") and self.r.random() < 0.3:
            more["thread"] = self._tag("thread", self.r.choice(THREADS))
            if self.model.messages and self.r.random() < 0.5:
                more["reply_to"] = self._tag("reply", self.r.choice(self.model.messages).id)
        if self.model.has("priority") and self.r.random() < 0.6:
            more["priority"] = self._tag("priority", self.r.randrange(10))
        if self.model.has("compare_and_append") and self.model.bases and self.r.random() < 0.3:
            base, _, used = self.r.choice(self.model.bases[-4:])
            more["base"] = self._tag("base" if used is None else "used base", base)
            if used is not None:
                to = self.model.messages[used].content["to"]
        return self._step(at, "send", agent_id=agent, to=to, **more)

    def _again(self, at: int, agent: str, params: dict[str, Any]) -> Step:
        """An earlier message with a key: to the letter, with other content, or by another sender."""
        keyed = [old for old in self.model.messages if old.key is not None]
        if not keyed:
            return self._step(at, "send", agent_id=agent, **params)
        message = self.r.choice(keyed)
        if message.sender != agent:
            self._tag("another's key")
            return self._step(at, "send", agent_id=agent, **(params | {"key": message.key}))
        content = copied(message.content)
        if self.r.random() < 0.4:
            content["body"] = self._tag("key, other content", self._body())
        else:
            self._tag("key again")
            if (base := self.model.base_of(message)) is not None and self.r.random() < 0.5:
                content["base"] = base
        return self._step(at, "send", agent_id=agent, key=message.key, **content)

    def _body(self) -> str:
        limit = self.model.limits.get("body_chars_max", 0)
        what = self.r.random()
        if 0 < limit < 10_000 and what < 0.1:
            return str(self._tag("largest body", "x" * limit))
        if 0 < limit < 10_000 and what < 0.2:
            return str(self._tag("body too large", "x" * (limit + 1)))
        if what < 0.5:
            return str(self._tag("odd body", self.r.choice(BODIES)))
        if what < 0.6 and self.model.messages:
            return str(self._tag("same body", self.r.choice(self.model.messages).content["body"]))
        self.serial += 1
        return f"message {self.serial}"

    def _receive(self, at: int, agent: str) -> Step:
        waits = len(self.model.waiting(agent)) if agent in self.model.inboxes else 0
        limit, after = None, None
        if waits > 1 and self.r.random() < 0.4:
            is_below = self.r.random() < 0.6
            limit = self._tag(
                "limit below" if is_below else "limit at", self.r.randrange(1, waits) if is_below else waits
            )
        own = [value for name, value, _ in self.model.positions if name == agent]
        if own and self.r.random() < 0.6:
            is_old = self.r.random() < 0.3
            after = self._tag("old position" if is_old else "position", self.r.choice(own) if is_old else own[-1])
        return self._step(at, "receive", agent_id=agent, limit=limit, after=after)

    def _unacked(self, at: int, agent: str) -> Step:
        return self._step(at, "unacked", agent_id=agent)

    def _ack(self, at: int, agent: str) -> Step:
        """Some of those that it was shown; or a message of another agent."""
        own = [d for d in self.model.inboxes.get(agent, ()) if d.is_shown and not d.is_acked]
        mine = {d.message for d in self.model.inboxes.get(agent, ())}
        others = [message.id for number, message in enumerate(self.model.messages) if number not in mine]
        if others and (not own or self.r.random() < 0.2):
            return self._step(at, "ack", agent_id=agent, ids=[self._tag("another's message", self.r.choice(others))])
        if not own:
            return self._send(at, agent)
        chosen = own if self.r.random() < 0.2 else self.r.sample(own, self.r.randint(1, min(3, len(own))))
        self._tag("ack of all" if len(chosen) == len(own) else "ack of some")
        return self._step(at, "ack", agent_id=agent, ids=[self.model.messages[d.message].id for d in chosen])

    # -- claims

    def _claim(self, at: int, agent: str) -> Step:
        name = self.r.choice(self.names)
        if name in self.model.claims:
            self._tag("held")
        return self._step(at, "claim", name=name, agent_id=agent, ttl_ms=self.r.choice(SHORT_MS))

    def _hold(self, at: int, agent: str) -> Step:
        """A renewal or a release, mostly by the holder."""
        name = self.r.choice(sorted(self.model.claims) or self.names)
        held = self.model.claims.get(name)
        if held is not None and held.holder != agent:
            if self.r.random() < 0.7:
                agent = held.holder
            else:
                self._tag("another's claim")
        token = None
        if held is not None and self.model.has("fencing") and self.r.random() < 0.5:
            tokens = [free for key, free in self.model.frees.items() if ".token" in key and free.value is not None]
            token = self._tag("old token", self.r.choice(tokens)) if self.r.random() < 0.3 else held.token
        if self.model.has("renew") and self.r.random() < 0.5:
            return self._step(at, "renew", name=name, agent_id=agent, ttl_ms=self.r.choice(SHORT_MS), token=token)
        return self._step(at, "release", name=name, agent_id=agent, token=token)

    # -- jobs

    def _put(self, at: int, agent: str) -> Step:
        self.serial += 1
        body = self.r.choice(BODIES) if self.r.random() < 0.4 else f"job {self.serial}"
        return self._step(at, "put", agent_id=agent, queue=self.r.choice(self.queues), body=body)

    def _take(self, at: int, agent: str) -> Step:
        queue = self.r.choice(self.queues)
        return self._step(at, "take", agent_id=agent, queue=queue, visible_ms=self.r.choice(SHORT_MS))

    def _settle(self, at: int, agent: str) -> Step:
        """One of the jobs in hand is done, or given back."""
        hands = [(queue, job) for queue, jobs in self.model.jobs.items() for job in jobs if self._is_in_hand(job)]
        if not hands:
            return self._take(at, agent)
        queue, job = self.r.choice(hands)
        is_back = self.model.has("back") and self.r.random() < 0.4
        self._tag("back" if is_back else "done")
        params = {"agent_id": job.taker, "queue": queue, "id": job.handle, "receipt": job.receipt}
        return self._step(at, "back" if is_back else "done", **params)

    def _is_in_hand(self, job: Job) -> bool:
        return not job.is_done and job.until_ms is not None and job.until_ms > self.now_ms and bool(job.taker)

    def _dead(self, at: int, agent: str) -> Step:
        self._tag("dead")
        return self._step(at, "dead", agent_id=agent, queue=self.r.choice(self.queues))


# Sets of promises that together reach all of the model: the smallest, those that exclude each other, the limits.
PROMISES = (
    *("core", "lease jobs ack", "consumes ack unacked sender", "cumulative_ack ack number"),
    *("page arrival number ack broadcast", "priority consumes sender broadcast late_readers self_delivery"),
    *("jobs redelivery attempts back dead_letter attempts_max=2 lease renew",),
    *("ack arrival key broadcast late_readers unread_max=3 ttl_ms=60000 page_max=2 body_chars_max=40 jobs",),
)
METHODS = tuple(name for name, method in CONTRACT.methods.items() if method.noun is not None)


def _things(method: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for kind, name in {"agent": "agent_id", "name": "name", "queue": "queue"}.items():
        if type(params.get(name)) is str:
            yield kind, params[name]
    yield "store", ""


def _conditions(model: MailboxModel, called: Called) -> Iterator[str]:
    agent, claim = called.params.get("agent_id"), model.claims.get(called.params.get("name", ""))
    own = model.inboxes.get(agent, []) if type(agent) is str else []
    yield from ["shown"] * any(d.is_shown for d in own) + ["acked"] * any(d.is_acked for d in own)
    if claim is not None:
        yield "own claim" if claim.holder == agent else "another's claim"
        yield "token" if called.params.get("token") == plain(claim.token) else "other token"
    jobs = model.jobs.get(called.params.get("queue", ""), [])
    yield from ["done"] * any(job.is_done for job in jobs) + ["in hand"] * any(job.taker for job in jobs)


SPECIFICATION = Specification(
    "mailbox",
    MailboxModel,
    Hand,
    MailboxGenerator,
    _things,
    EDGES,
    METHODS,
    needs_clock=False,
    conditions=_conditions,
    variants=tuple(f"refbus.mailbox {words}" for words in PROMISES),
)
