"""Programs for `worker`: the calls that matter now are drawn from the model's state.

Every program has a theme, so that rare states are reached on purpose: signed, bounded, dead letters, many at once. A
step that was drawn for an edge says so in a tag; `EDGES` lists them all, and the corpus must hold each.
"""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

from busproof.bus.hand_worker import WorkerHand
from busproof.contract.worker import CONTRACT
from busproof.oracle.models.spec import Free, plain
from busproof.oracle.models.worker import ENDS, SILENCE, WAYS, WorkerModel
from busproof.oracle.models.worker_state import Options, Row
from busproof.oracle.models.worker_values import depth, words_of
from busproof.play.explore.drawing import ALIKE, BAD_TEXTS, ODD_NAMES, Drawing
from busproof.play.explore.orders import Called
from busproof.play.explore.script import Step, call, changed, copied, numbered
from busproof.play.explore.stage import Specification
from busproof.play.explore.vary import LOOK_ALIKE

BAD_NAMES = ("a/b", "a\\b", "..", "a..b", ".", "", "a\x00b", "a\nb", "\x7f", "\ud800", 5, None, True, ["a"], "\x85")
LONG_NAMES = ("n" * 201, "\u00e9" * 100 + "x", "\u6f22" * 67, "\U0001f600" * 51)
WORDS = (
    "alpha",
    "Beta",
    "gamma7",
    "\u00e9clair",
    "stra\u00dfe",  # another word, or a longer one, in another case
    "\u03c3\u03bf\u03c6\u03bf\u03c2",
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "x-ray",
    "al",
    "task",
    "42",
    "1.5",
    "True",
    "text",
    "inner",
)
FILLS = ("x", "\u00e9", "\u6f22", "\U0001f600", '"', "\\", "\n", "[")  # of 1 to 4 bytes in UTF-8, of 1 to 12 in JSON
FRAMES: tuple[Callable[[str], Any], ...] = (
    lambda text: text,
    lambda text: ["alpha", text],
    lambda text: {"alpha": text, "n": 1, "inner": [1, 2, {}]},
    lambda text: {"inner": {"a": [text, None]}, "gamma7": "Beta"},
)
FOUND = re.compile("[0-9A-Za-z\u00c0-\u00ff]{1,40}")  # a word that every index reads alike
QUERIES = (
    *("alpha*", 'al"pha', "ECLAIR", "type:task", "(alpha", "state_change", "sensor_x", "  ", "alpha\tBeta"),
    *("NOSUCHWORD",),
)
LOOKALIKES: tuple[Any, ...] = (*ALIKE, 5e-324)
NO_JSON = ("\ud800", {"a": "\udfff"}, float("nan"), float("inf"), [float("-inf")])
JUNK: tuple[Any, ...] = (None, True, False, -1, 1.5, 2**63, "", "0", "x", [], {}, "7", [1], 10**30)
TYPES = ("t", "state_change", "heartbeat", "alpha beta", "task_done", "Task_Done", "review_request", "y" * 1024)
STATES = tuple(state for state in WAYS if state)
KEYS = (
    *("00ff5ec0e7c0ffee00ff", "00FF5EC0E7C0FFEE00FF", "a1b2c3d4e5f6a7b8c9d0", "00ff5ec0e7c0ffee00"),
    *("5e" * 70, "5e" * 69 + "5f", "5e" * 71),  # longer than a block of the hash, and alike for long
)
BAD_OPTIONS: tuple[dict[str, Any], ...] = (
    *({"lease_ms": bad} for bad in (0, -1, 2**53 + 2, True, 1.5, "1000")),
    *({name: bad} for name in ("unread_max", "deliveries_max") for bad in (0, -1, True, 1.5, "1", 2**63)),
    *({"signing_key": bad} for bad in ("0", "xy", "", "0x00", " 00", 0, True, ["00"])),
)
LEASES_MS = (1, 2, 1000, 60_000, 120_000, 2**31, 2**53)
# What a program in another language may write into a row: not spaced, not escaped, not small.
STRANGE_TEXTS = (
    *(
        '{"b":1,"a":"alpha"}',
        "7",
        "[ 1 ,2]",
        "not json",
        "[1] 2",
        '{"a":"\u00e9clair \U0001f600"}',
        " null ",
        "1e5",
        '"\\u0061l"',
    ),
    *('"alpha ' + "z" * 5000 + '"', "[" * 200 + "]" * 200),
)
STRANGE_REFS = ("../bus.db", "sha256-zz", "SHA256-" + "0" * 64, "sha256-" + "0" * 64)
THEMES = ("all", "log", "loop", "lease", "presence", "blob", "signed", "bounded", "archive", "export", "states")

EDGES = (
    *(f"lease{at}" for at in ("-1", "+0", "+1")),
    *(f"{state}{at}" for _, state, _ in SILENCE for at in ("-1", "+0", "+1")),
    *("clock back", "clock forward", "restart", "kill", "reopen", "other options", "second process", "race", "wait"),
    *("4096 bytes", "4097 bytes", "4 MiB", "4 MiB + 1", "depth 256", "depth 257", "200 bytes", "201 bytes"),
    *("1024 chars", "1025 chars", "falsy", "look-alike", "no JSON", "bad name", "bad text", "junk", "no such field"),
    *("field missing", "newest", "newest + 1", "seq 0", "seq 2^63", "archived seq", "another's seq", "limit 0"),
    *("limit 1", "as many as there are", "one more than there are", "limit 2^63 - 1", "limit 2^63", "latest token"),
    *("stale token", "token to come", "no token", "another's claim", "retry", "retry by another"),
    *("retry with another field", "retry with another payload", "retry in other order", "retry in a batch"),
    *("retry of an archived one", "retry of a dead letter", "retry of a lost blob", "twice in a batch"),
    *("bad one in a batch", "empty batch", "at the bound", "below the bound", "fails", "fails the last time"),
    *("fails a redriven one", "redrive", "redrive twice", "redrive another's", "tampered", "unsigned", "lost blob"),
    *("spoiled blob", "not JSON in the row", "ref as a path", "torn export", "forgotten export", "rotated export"),
    *("burned numbers", "burned seq", "stranger", "deleted by another", "another's heartbeat", "years later"),
    *("wait amid traffic", "a stranger's claim", "a stranger's ack", "another blob's ref", "mirror lost"),
    *("mirror spoiled", "fails until it is dead", "several fail", "said to be null", "longest message"),
    *("70,000 bytes", "more agents", "words of a message", "more wait than one page", "a long batch again"),
    *("fills up to the bound", "one more than the bound", "upper case ref", "cut ref", "unknown ref", "query syntax"),
    *("archived words", "way", "no way", "ack under the lock", "repeated way", "another worker", "stale belief"),
    *("more than 1,000", "synchronous FULL", "bad options"),
)

Drawn = tuple[str, dict[str, Any]]


class WorkerGenerator(Drawing):
    """Draws the steps of one program."""

    def __init__(self, rng: random.Random, features: frozenset[str]) -> None:
        super().__init__(rng, features)
        self.theme = "volume" if rng.random() < 0.02 else rng.choice(THEMES)
        self.agents = rng.sample(rng.choice((ODD_NAMES, LOOK_ALIKE)), 3) if rng.random() < 0.6 else ["ann", "bob", "cy"]
        self.are_more = rng.random() < 0.15
        self.agents += ["dan", "eve"] if self.are_more else []
        self.tasks = rng.sample(rng.choice((ODD_NAMES, LOOK_ALIKE)), 2)
        self.ids: list[Any] = [
            "id0",
            "id1",
            *rng.sample(["ID0", "id 0", "i" * 1024, "caf\u00e9", "cafe\u0301", "0"], 2),
        ]
        self.processes = rng.choice((2, 2, 3))
        self.options: dict[int, dict[str, Any]] = {}
        self.sent: list[tuple[Any, dict[str, Any]]] = []
        self.saved: list[Any] = []

    # -- a program

    def start(self) -> Iterator[Step]:
        """Two or three processes, mostly with the same options."""
        shared = self._some_options()
        for at in range(self.processes):
            yield self._open(at, shared if self.r.random() < 0.85 else self._some_options())
        if self.theme == "volume":
            yield from self._volume()

    def draw(self, model: Any, now_ms: int) -> Step:
        """The next step."""
        self.model: WorkerModel = model
        self.now_ms, self.tags = now_ms, []
        if self.queue:
            return self.queue.pop(0)
        what = self.r.random()
        if what < 0.10:
            return self._clock()
        if what < 0.16:
            return self._mischief()
        if what < 0.19 and len(model.log) < 200:
            return self._race()
        if what < 0.195:
            return self._wait()
        if what < 0.24:
            return self._spoiled()
        if what < 0.32:
            return self._look()
        return self._call(*self._operation())

    def end(self) -> Iterator[Step]:
        """Everything once more."""
        yield call(0, "export_to_jsonl")
        yield from (call("hand", "exported"), call("hand", "blob_files"))
        for agent in self.agents:
            yield call(0, "poll", agent_id=agent, limit=5000)
            yield call(1, "dead_letters", agent_id=agent)
        yield call(0, "search", query="alpha")
        for task in self.tasks:
            yield call(1, "worker_state", worker=task)
            yield call("hand", "worker_file", worker=task)
        yield call(0, "liveness")
        yield call(1, "dump")

    def _volume(self) -> Iterator[Step]:
        """More than any part that is handled at once."""
        many = self.r.choice((101, 1001, 1100, 2001))
        of = {"type": "t", "payload": {"n": "number #", "w": "alpha"}}
        if self.r.random() < 0.5:
            of["id"] = "m#"
        if self.r.random() < 0.3:
            of["to"] = self.agents[0]
        if "id" in of and self.r.random() < 0.4:  # one of the batch is known, maybe its last
            first = numbered(of, self.r.choice((0, many // 2, many - 1)))
            yield call(1, "publish", agent_id=self.agents[0], message=first)
        messages = {"$many": many, "of": of}
        yield call(
            0, "publish_many", ("more than 1,000",) if many > 1000 else (), agent_id=self.agents[0], messages=messages
        )
        for _ in range(self.r.choice((0, 1, 2))):
            yield call(1, "publish", agent_id=self.agents[1], message={"type": "t", "payload": "alpha last"})
        if "id" in of and self.r.random() < 0.5:
            longer = {"$many": many + self.r.choice((0, 1)), "of": of}
            yield call(1, "publish_many", ("a long batch again",), agent_id=self.agents[0], messages=longer)
        yield call(0, "export_to_jsonl")
        yield call("hand", "exported")
        yield call(1, "search", query="alpha", limit=5000)
        for agent in self.agents:
            yield call(
                1,
                "poll",
                agent_id=agent,
                **({} if self.r.random() < 0.5 else {"limit": self.r.choice((100, 1000, 5000))}),
            )
            yield call(0, "process_loop", agent_id=agent, limit=self.r.choice((3, 100, many - 1)))
        yield call(0, "archive")
        yield call(1, "dump")

    def _some_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        often = {
            "loop": "deliveries_max",
            "archive": "deliveries_max",
            "bounded": "unread_max",
            "signed": "signing_key",
        }
        for name, values, share in (
            ("lease_ms", LEASES_MS, 0.3),
            ("unread_max", (1, 2, 3, 5, 12, 120, 2**63 - 1), 0.08),
            ("deliveries_max", (1, 2, 3, 3, 7, 2**63 - 1), 0.25),
            ("signing_key", KEYS, 0.08),
            ("synchronous", ("FULL",), 0.05),
        ):
            if self.r.random() < (0.95 if often.get(self.theme) == name else share):
                options[name] = self.r.choice(values)
        return options

    def _open(self, at: int, options: dict[str, Any], *tags: str) -> Step:
        self.options[at] = options
        return Step(
            "open",
            at,
            params={"options": options},
            tags=(*tags, *(["synchronous FULL"] if "synchronous" in options else [])),
        )

    def _call(self, method: str, params: dict[str, Any]) -> Step:
        at = self.r.randrange(self.processes)
        if at:
            self.tags.append("second process")
        step = Step("call", at, method, params, tags=tuple(self.tags))
        if method == "publish" and isinstance(params.get("message"), dict) and "retry" not in self.tags:
            self.sent.append((params.get("agent_id"), params["message"]))
        return step

    # -- events around the calls

    def _clock(self) -> Step:
        """To a moment that decides something, or far, or back."""
        r, near = self.r, (("-1", -1), ("+0", 0), ("+1", 1))
        edges = [(f"lease{at}", c.until_ms + d) for c in self.model.claims.values() for at, d in near]
        edges += [
            (f"{state}{at}", beat["ts_ms"] + age_ms + d)
            for beat in self.model.beats.values()
            if type(beat["ts_ms"]) is int  # another program's may not be one
            for age_ms, state, _ in SILENCE
            for at, d in near
        ]
        if edges and r.random() < 0.75:
            tag, now_ms = r.choice(edges)
        else:
            now_ms = self.now_ms + r.choice((1, 999, 30_000, 60_000, 300_000, 10**9, 10**11, -1, -60_000, -(10**9)))
            ahead = "years later" if now_ms - self.now_ms == 10**11 else "clock forward"
            tag = "clock back" if now_ms < self.now_ms else ahead
        now_ms = min(max(now_ms, 0), 2**53)
        if tag.startswith("lease") and self.model.claims:
            task = next((t for t, c in self.model.claims.items() if abs(c.until_ms - now_ms) <= 1), self.tasks[0])
            method = r.choice(("try_claim_task", "try_claim_task", "renew_claim", "release_claim"))
            self.queue.append(call(r.randrange(self.processes), method, task_id=task, agent_id=r.choice(self.agents)))
        elif tag[:4] in ("WARN", "STAL", "DEAD"):
            self.queue.append(call(r.randrange(self.processes), "liveness"))
        return Step("clock", params={"now_ms": now_ms}, tags=(tag,))

    def _mischief(self) -> Step:
        """Restarts, other options, strangers, damage."""
        r, at = self.r, self.r.randrange(self.processes)
        of_theme = {"blob": self._harm_blob, "export": self._harm_export, "signed": self._tamper}.get(self.theme)
        if of_theme is not None and r.random() < 0.6:
            return of_theme()
        if r.random() < 0.4:
            return r.choice((self._restart, self._reopen))(at)
        harms = (self._harm_blob, self._harm_export, self._harm_mirror, self._tamper)
        return r.choice((*harms, self._stranger, self._stranger, self._burn))()

    def _reopen(self, at: int) -> Step:
        if self.r.random() < 0.15:
            bad = {**self._some_options(), **self.r.choice(BAD_OPTIONS)}
            self.queue.append(self._open(at, self._some_options(), "other options"))
            return Step("open", at, params={"options": bad}, tags=("bad options",))
        if self.r.random() < 0.5:
            return self._open(at, self.options[at], "reopen")
        return self._open(at, self._some_options(), "other options")

    def _harm_blob(self) -> Step:
        refs = [row.ref for row in self.model.log if row.ref in self.model.blobs] or list(self.model.blobs)
        if not refs:
            return self._call(*self._save_blob())
        ref = self.r.choice(refs)
        self._follow_up_blob(ref)
        if self.r.random() < 0.5:
            return call("hand", "lose_blob", ("lost blob",), ref=ref)
        content = self.r.choice(("", '"tampered"', self.model.blobs[ref][:-1], self.model.blobs[ref] + " "))
        return call("hand", "spoil_blob", ("spoiled blob",), ref=ref, content=content)

    def _follow_up_blob(self, ref: str) -> None:
        """Next, a call that has to do with the blob."""
        row = next((row for row in self.model.log if row.ref == ref), None)
        at, agent = self.r.randrange(self.processes), self.r.choice(self.agents)
        follow = [call(at, "load_blob", ref=ref), call(at, "poll", agent_id=agent), call(at, "search", query="alpha")]
        if row is not None:
            message = self._as_sent(row)
            again = call(at, "publish", ("retry", "retry of a lost blob"), agent_id=row.from_agent, message=message)
            fresh = call(at, "publish", agent_id=agent, message={"type": "t", "payload": message["payload"]})
            saved = call(at, "save_blob", content=message["payload"])
            follow += [again, again, fresh, saved, call(at, "process_loop", agent_id=agent)]
        self.queue += self.r.sample(follow, 2)

    def _harm_export(self) -> Step:
        self.queue += [call(self.r.randrange(self.processes), "export_to_jsonl"), call("hand", "exported")]
        what = self.r.random()
        if what < 0.5:
            lines = [json.dumps(self.model.in_file[-1], default=plain)[:-1]] if self.model.in_file else []
            tail = self.r.choice(['{"seq": 99', "{", '{"seq": 1, "id": "x"}', "\x00\x00", *lines])
            return call("hand", "tear_export", ("torn export",), tail=tail)
        if what < 0.8:
            return call("hand", "forget_export", ("forgotten export",))
        return call("hand", "rotate_export", ("rotated export",))

    def _harm_mirror(self) -> Step:
        """The database alone decides the state of a worker."""
        if not self.model.workers:
            return self._call(*self._transition())
        at, worker = self.r.randrange(self.processes), self.r.choice(sorted(self.model.workers))
        present = self.model.workers[worker]
        way = {"worker": worker, "from_state": present, "to_state": self.r.choice(sorted(WAYS[present]) or [present])}
        self.queue += [call(at, "worker_state", worker=worker), call(at, "transition", **way)]
        if self.r.random() < 0.4:
            return call("hand", "spoil_mirror", ("mirror lost",), worker=worker, content=None)
        other = json.dumps({"worker": worker, "state": self.r.choice(STATES), "updated_at_ms": self.now_ms})
        content = self.r.choice((other, other[:-9], "", "null", "[]"))
        return call("hand", "spoil_mirror", ("mirror spoiled",), worker=worker, content=content)

    def _tamper(self) -> Step:
        """One column of one message; a signature covers them all."""
        row = self._a_row()
        if row is None:
            return self._stranger()
        column = self.r.choice(("ts_ms", "from_agent", "to_agent", "type", "correlation_id", "in_reply_to", "payload"))
        if row.ref is not None and column == "payload":
            column = "payload_ref" if self.r.random() < 0.5 else "type"
        now = row.columns()[column]
        of_column: dict[str, list[Any]] = {
            "ts_ms": [row.ts_ms + 1, 0],
            "from_agent": [*self.agents, "x", ""],
            "to_agent": [*self.agents, None, ""],
            "type": ["task_done", "T", ""],
            "payload": ['{"a": "alpha"}', "7", "not json", '{"a": 1}{"b"', None, "", "null", "0", "false"],
            "payload_ref": [*sorted(self.model.blobs)[:9], "../bus.db"],
        }
        value = self.r.choice([other for other in of_column.get(column, ["c9", None, "", "0"]) if other != now])
        if column == "payload_ref":
            self._tag("another blob's ref")
        readers = [call(0, "poll", agent_id=agent, limit=self.r.choice((100, 5000))) for agent in self.agents]
        readers += [
            call(1, "search", query="alpha"),
            call(0, "dead_letters", agent_id=self.agents[0]),
            call(1, "status"),
        ]
        self.queue += self.r.sample(readers, 2)
        self._tag("not JSON in the row" if value == "not json" else "tampered")
        if row in self.model.indexed or row.number <= (plain(self.model.exported_to) or 0):
            return self._stranger()  # earlier copies would differ for good
        return call("hand", "tamper", self.tags, seq=row.seq, column=column, value=value)

    def _stranger(self) -> Step:
        """A program without this bus."""
        other = self.r.random()
        if other < 0.25:
            return self._strange_beat() if other < 0.1 else self._delete()
        if other < 0.5:
            return self._strange_claim() if other < 0.4 else self._strange_ack()
        self.serial += 1
        payload = self.r.choice((None, None, *STRANGE_TEXTS))
        ref = (
            self.r.choice((*sorted(self.model.blobs)[:3], *STRANGE_REFS))
            if payload is None and self.r.random() < 0.5
            else None
        )
        row: dict[str, Any] = {
            "id": f"stranger{self.serial}",
            "ts_ms": self.now_ms,
            "from_agent": self.r.choice(self.agents),
            "to_agent": self.r.choice((None, *self.agents)),
            "type": self.r.choice(TYPES[:4]),
            "payload": payload,
            "payload_ref": ref,
        }
        tags = [
            "stranger",
            *(["unsigned"] if self.theme == "signed" else []),
            *(["ref as a path"] if ref in STRANGE_REFS else []),
        ]
        tags += ["another blob's ref"] if ref in self.model.blobs else []
        self.queue.append(
            call(self.r.randrange(self.processes), "poll", agent_id=row["to_agent"] or self.agents[0], limit=5000)
        )
        return call("hand", "stranger_publishes", tags, row=row)

    def _strange_claim(self) -> Step:
        """By the seed's own statements, which know no tokens: taken where nobody holds it, or given back."""
        at, task = self.r.randrange(self.processes), self.r.choice(self.tasks)
        until_ms = self.now_ms + self.r.choice((1, 60_000))
        claim = self.model.claims.get(task)
        whose = claim.claimed_by if claim else self.r.choice(self.agents)
        tries = call(at, "try_claim_task", task_id=task, agent_id=self.r.choice(self.agents))
        keeps = call(at, self.r.choice(("renew_claim", "release_claim")), task_id=task, agent_id=whose)
        ends = Step("clock", params={"now_ms": min(until_ms, 2**53)}, tags=("lease+0",))
        self.queue += [self.r.choice((tries, keeps)), *([ends, tries] if self.r.random() < 0.5 else [])]
        if claim is not None and self.r.random() < 0.3:
            return call("hand", "stranger_releases", ("a stranger's claim",), task_id=task, agent_id=whose)
        params = {"task_id": task, "agent_id": "stranger", "now_ms": self.now_ms, "lease_until_ms": until_ms}
        return call("hand", "stranger_claims", ("a stranger's claim",), **params)

    def _strange_ack(self) -> Step:
        """By the seed's own statement, for an agent of the bus or for another one."""
        agent, rows = self.r.choice((*self.agents, "newcomer")), self.model.everything()
        seq = self.r.choice(rows).seq if rows and self.r.random() < 0.8 else 0
        at = self.r.randrange(self.processes)
        self.queue += [self.r.choice((call(at, "archive"), call(at, "poll", agent_id=agent)))]
        return call("hand", "stranger_acks", ("a stranger's ack",), agent_id=agent, seq=seq, now_ms=self.now_ms)

    def _strange_beat(self) -> Step:
        """A heartbeat with a content that no bus would send."""
        self.queue.append(call(self.r.randrange(self.processes), "liveness"))
        row: dict[str, Any] = {"agent_id": self.r.choice((*self.agents, "a/b", "")), "ts_ms": self.now_ms}
        row["ts_ms"] -= self.r.choice((-60_000, 0, 29_999, 30_000, 100_000, self.now_ms))
        row["status"] = self.r.choice(("idle", "", "on fire"))
        row["progress"] = self.r.choice((None, 0.5, "half"))
        return call("hand", "stranger_beats", ("another's heartbeat",), row=row)

    def _delete(self) -> Step:
        """Another program clears a message away that nobody has begun to handle."""
        begun = {seq for kept in (self.model.dead, self.model.redriven, self.model.deliveries) for _, seq in kept}
        rows = [row for row in self.model.log if type(plain(row.seq)) is int and plain(row.seq) not in begun]
        if not rows:
            return self._burn() if self.model.log else self._strange_beat()
        self.queue += [call(self.r.randrange(self.processes), "export_to_jsonl"), call("hand", "exported")]
        if self.r.random() < 0.3:
            self.queue.insert(0, call("hand", "rotate_export", ("rotated export",)))
        row = self.r.choice((rows[-1], self.r.choice(rows)))
        if self.r.random() < 0.3:  # its id is free now
            again = {"agent_id": row.from_agent, "message": self._as_sent(row)}
            self.queue.append(call(self.r.randrange(self.processes), "publish", **again))
        return call("hand", "stranger_deletes", ("deleted by another",), seq=row.seq)

    def _burn(self) -> Step:
        """A gap in the numbers."""
        if not self.model.log:
            return self._stranger()
        highest = plain(self.model.highest) or 0
        upto = self.r.choice((highest + 1, highest + 10, 2**31 - 1, 2**53 - 1))
        self.queue.append(self._call("publish", {"agent_id": self.r.choice(self.agents), "message": self._message()}))
        return call("hand", "burn", ("burned numbers",), upto=upto)

    def _look(self) -> Step:
        """A look at everything, from one side."""
        at, worker = self.r.randrange(self.processes), self.r.choice(self.tasks)
        looks = [call("hand", "exported"), call("hand", "blob_files"), call("hand", "worker_file", worker=worker)]
        return self.r.choice([call(at, "dump"), call(at, "dump"), call(at, "dump"), *looks])

    def _race(self) -> Step:
        """Two processes at the same lock, mostly at the same thing."""
        method, params = self._operation()
        while method in ("poll_intervals", "load_blob", "search", "save_blob") and self.r.random() < 0.8:
            self.tags.clear()
            method, params = self._operation()
        other = (method, copied(params)) if self.r.random() < 0.6 else self._operation()
        for who in ("agent_id",):
            if who in other[1] and self.r.random() < 0.6:
                other[1][who] = self.r.choice(self.agents)
        for name, of in ((method, params), other):
            if name == "process_loop":
                of["limit"] = 1  # or its parts come in more orders than anybody can try
        first, second = self.r.sample(range(self.processes), 2)
        if self._keys_differ(first, second) or len(json.dumps([params, other[1]], default=str)) > 20_000:
            return self._call(method, params)
        calls = [Step("call", first, method, params), Step("call", second, *other)]
        tags = ["race"]
        if method == "archive" or (self.theme == "archive" and self.r.random() < 0.5):
            newcomer = self.r.choice([*self.agents, "newcomer"])
            acks = Step("call", "hand", "stranger_acks", {"agent_id": newcomer, "seq": 0, "now_ms": self.now_ms})
            calls = [Step("call", first, "archive", {}), acks]
            tags.append("ack under the lock")
        return Step("race", calls=calls, tags=(*tags, *self.tags))

    def _keys_differ(self, first: int, second: int) -> bool:
        keys = [str(self.options[at].get("signing_key")).lower() for at in (first, second)]
        return keys[0] != keys[1]

    def _wait(self) -> Step:
        """A poll that waits, and a call that wakes it, or does not."""
        agent, sender = self.r.choice(self.agents), self.r.choice(self.agents)
        first, second = self.r.sample(range(self.processes), 2)
        if self.model.unread(agent) or self.model.again(agent):
            return self._call("poll", {"agent_id": agent, "wait_ms": 20})
        waits = Step("call", first, "poll", {"agent_id": agent, "wait_ms": 5000, "limit": self.r.choice((1, 100))})
        message = {"type": "t", "to": self.r.choice((None, agent)), "payload": "wake"}
        if self.options[second].get("unread_max") is not None:
            message["to"] = None
        brings = [
            call(second, "publish", agent_id=sender, message=message),
            call(second, "publish_many", agent_id=sender, messages=[message, message]),
        ]
        letters = [row.seq for row in self.model.log if (agent, plain(row.seq)) in self.model.dead]
        brings += [call(second, "redrive", ("redrive",), agent_id=agent, seq=seq) for seq in letters[-3:]]
        if self.r.random() < 0.2:
            traffic = [call(second, "heartbeat", agent_id=sender, status="idle")] * 60
            return Step("wait", calls=[waits, *traffic, self.r.choice(brings)], tags=("wait", "wait amid traffic"))
        return Step("wait", calls=[waits, self.r.choice(brings)], tags=("wait",))

    def _spoiled(self) -> Step:
        """A good call with one thing wrong."""
        method, params = self._operation()
        self.tags.clear()
        how = self.r.random()
        names = [key for key in params if key in ("agent_id", "task_id", "worker")]
        if how < 0.2 or not params:
            params = {**params, self.r.choice(("x", "agent", "limit_")): 1}
            self._tag("no such field")
        elif how < 0.35:
            gone = self.r.choice(sorted(params))
            params = {key: value for key, value in params.items() if key != gone}
            self._tag("field missing")
        elif names and how < 0.75:
            is_long = self.r.random() < 0.2
            params = {**params, self.r.choice(names): self.r.choice(LONG_NAMES if is_long else BAD_NAMES)}
            self._tag("201 bytes" if is_long else "bad name")
        else:
            params = {**params, self.r.choice(sorted(params)): self.r.choice(JUNK)}
            self._tag("junk")
        return Step("call", self.r.randrange(self.processes), method, params, tags=tuple(self.tags))

    # -- operations

    def _operation(self) -> Drawn:
        """One of all, more often those of the theme."""
        weights: dict[Callable[[], Drawn], int] = {
            self._publish: 12,
            self._retry: 6 if self.sent else 0,
            self._publish_many: 4,
            self._poll: 7,
            self._ack: 6,
            self._process_loop: 7,
            self._dead_letters: 2,
            self._redrive: 4 if self.model.dead else 1,
            self._claim: 7,
            self._renew: 5,
            self._release: 5,
            self._heartbeat: 5,
            self._liveness: 3,
            self._save_blob: 2,
            self._load_blob: 2,
            self._export: 3,
            self._archive: 3,
            self._search: 4,
            self._transition: 7,
            self._worker_state: 2,
            self._status: 3,
            self._poll_intervals: 1,
        }
        of_theme: dict[str, tuple[Callable[[], Drawn], ...]] = {
            "log": (self._publish, self._retry, self._publish_many),
            "loop": (self._process_loop, self._redrive, self._dead_letters, self._ack, self._publish),
            "lease": (self._claim, self._renew, self._release),
            "presence": (self._heartbeat, self._liveness, self._status),
            "blob": (self._save_blob, self._load_blob, self._publish, self._search),
            "signed": (self._publish, self._poll, self._search, self._process_loop),
            "bounded": (self._publish, self._publish_many, self._ack, self._process_loop, self._redrive),
            "archive": (
                self._archive,
                self._ack,
                self._process_loop,
                self._search,
                self._export,
                self._redrive,
                self._retry,
            ),
            "export": (self._export, self._archive, self._publish),
            "states": (self._transition, self._worker_state, self._status),
        }
        if self.r.random() < 0.3:  # every operation after every other
            return self.r.choice([draw for draw, weight in weights.items() if weight])()
        for draw in of_theme.get(self.theme, ()):
            weights[draw] *= 4
        return self.r.choices(list(weights), list(weights.values()))[0]()

    def _agent(self) -> str:
        agent = self.r.choice((self.agents[0], *self.agents))
        if agent in self.agents[3:]:
            self._tag("more agents")
        return agent

    def _payload(self) -> Any:
        r, kind = self.r, self.r.random()
        if kind < (0.15 if self.theme == "blob" else 0.5):
            words = " ".join(r.choices(WORDS, k=3))
            fields = {"text": words, "n": r.choice((*LOOKALIKES[:12], 1.5, -42, 10**15, 1e16))}
            nested = (
                {"inner": [fields, {"deep": {words: [words]}}]},
                [fields, words],
                {words: fields},
                {"inner": {}, **fields},
            )
            return fields if r.random() < 0.7 else r.choice(nested)
        if kind < 0.8:
            value = r.choice(LOOKALIKES)
            return self._tag("falsy" if not value else "look-alike", value)
        if kind < 0.97:
            size = r.choice((4095, 4096, 4096, 4097, 4097, 5000, 5000, 70_000))
            if size in (4096, 4097, 70_000):
                self._tag(f"{size} bytes" if size < 70_000 else "70,000 bytes")
            return self._of_size(size)
        if kind < 0.985:
            levels = r.choice((256, 257))
            deep: Any = []
            for _ in range(levels - 1):
                deep = [deep]
            return self._tag(f"depth {depth(deep)}", deep)
        if kind < 0.995:
            return self._tag("no JSON", r.choice(NO_JSON))
        size = r.choice((0, 1))
        return self._tag("4 MiB + 1" if size else "4 MiB", "q" * (4 * 2**20 - 2 + size))

    def _of_size(self, size: int) -> Any:
        """A value whose JSON text has so many bytes: a text, or one among others, of wide characters or escapes."""
        frame, fill = self.r.choice(FRAMES), self.r.choice(FILLS)
        start = "" if self.r.random() < 0.5 else "alpha "
        room, width = size - len(json.dumps(frame(start))), len(json.dumps(fill)) - 2
        return frame(start + fill * (room // width) + "y" * (room % width))

    def _message(self) -> dict[str, Any]:
        r = self.r
        message: dict[str, Any] = {"type": r.choice(TYPES[:5] if r.random() < 0.95 else TYPES)}
        if r.random() < 0.8:
            message["payload"] = self._payload()
        if r.random() < 0.55:
            message["to"] = r.choice(self.agents)
        if r.random() < 0.5:
            self.serial += 1
            message["id"] = r.choice(self.ids) if r.random() < 0.25 else f"m{self.serial}"
        for key in ("correlation_id", "in_reply_to"):
            if r.random() < 0.25:
                message[key] = r.choice(("c1", "C1", self._tag("1024 chars", "c" * 1024), "id0", "\u00e9"))
        if r.random() < 0.06:
            message |= dict.fromkeys(r.sample(("id", "to", "correlation_id", "in_reply_to"), 2))
            self._tag("said to be null")
        elif r.random() < 0.02:
            self.serial += 1
            wide = r.choice(FILLS[:4]) * 1020
            message |= dict.fromkeys(("type", "correlation_id", "in_reply_to"), wide + "1024")
            message["id"] = self._tag("longest message", f"{wide}{self.serial:04}")
        self._maybe_one_defect(message)
        return message

    def _maybe_one_defect(self, message: dict[str, Any]) -> None:
        what, key = self.r.random(), self.r.choice(("type", "id", "correlation_id", "in_reply_to"))
        if what < 0.02:
            message[key] = self._tag("1025 chars", "y" * 1025)
        elif what < 0.04:
            message[key] = self._tag("bad text", self.r.choice(BAD_TEXTS))
        elif what < 0.05:
            message["to"] = self._tag("bad name", self.r.choice(BAD_NAMES[:-3]))
        elif what < 0.06:
            message[self._tag("no such field", self.r.choice(("ts_ms", "from", "seq", "")))] = 1

    def _publish(self) -> Drawn:
        message = self._message()
        for process in self.options.values():
            bound = process.get("unread_max")
            if bound is not None and isinstance(to := message.get("to"), str):
                unread = len(self.model.unread(to)) + len(self.model.again(to))
                if unread in (bound, bound - 1):
                    self._tag("at the bound" if unread == bound else "below the bound")
        return "publish", {"agent_id": self._sender(), "message": message}

    def _sender(self) -> str:
        if self.r.random() < 0.02:
            return str(self._tag("200 bytes", self.r.choice(("n" * 200, "\u00e9" * 100))))
        return self._agent()

    def _publish_many(self) -> Drawn:
        sizes = (0, 1, 2, 3, 5, *((13, 119) if self.theme in ("bounded", "log") else ()))
        messages = [self._message() for _ in range(self.r.choice(sizes))]
        if len(messages) > 5 and self.r.random() < 0.7:  # they come to lie before one reader
            messages, to = [message for message in messages if message.get("type") in TYPES], self.r.choice(self.agents)
            messages = [self._tag("more wait than one page", {**message, "to": to}) for message in messages]
        bounds = [process["unread_max"] for process in self.options.values() if "unread_max" in process]
        if bounds and self.r.random() < 0.4:
            messages = self._up_to_the_bound(min(bounds))
        if not messages:
            self._tag("empty batch")
        elif self.r.random() < 0.2:
            messages.append(dict(self._tag("twice in a batch", messages[0])))
        if messages and self.r.random() < 0.1:
            messages[-1] = self._tag("bad one in a batch", {"type": ""})
        if messages and self.r.random() < 0.15 and self.sent:
            messages.insert(0, dict(self._tag("retry in a batch", self.r.choice(self.sent)[1])))
        return "publish_many", {"agent_id": self._agent(), "messages": messages}

    def _up_to_the_bound(self, bound: int) -> list[dict[str, Any]]:
        """As many messages as a recipient still has room for, or one more."""
        to, serial = self.r.choice(self.agents), self.serial
        room = min(bound, 200) - len(self.model.unread(to)) - len(self.model.again(to))
        count = max(0, room + self.r.choice((0, 0, 1)))
        self.serial += count
        self._tag("fills up to the bound" if count <= room else "one more than the bound")
        return [{"type": "t", "to": to, "id": f"m{serial + n + 1}"} for n in range(count)]

    def _retry(self) -> Drawn:
        """An earlier message, to the letter or with one thing changed."""
        r = self.r
        rows = [
            row
            for row in [*self.model.log, *self.model.archived]
            if row.text is None or row.text[:1] in '{["0123456789ntf-'
        ]
        row = r.choice(rows) if rows else None
        if row is None or (row.id == plain(row.id) and str(row.id).startswith("stranger")):
            agent, message = r.choice(self.sent)
        else:
            agent, message = row.from_agent, self._as_sent(row)
            if any(row is old for old in self.model.archived):
                self._tag("retry of an archived one")
            if any(seq == plain(row.seq) for _, seq in self.model.dead):
                self._tag("retry of a dead letter")
        message = self._tag("retry", dict(message))
        change = r.random()
        if change < 0.15:
            agent = self._tag("retry by another", r.choice(self.agents))
        elif change < 0.35:
            key = r.choice(("to", "type", "correlation_id", "in_reply_to"))
            self._tag("retry with another field")
            if message.get(key) is not None and key != "type" and r.random() < 0.4:
                message[key] = None
            else:
                message[key] = r.choice(self.agents) if key == "to" else r.choice(("t", "T", "c1", "C1", "c" * 1024))
        elif change < 0.6:
            self._change_payload(message)
        if r.random() < 0.25:
            more = [*(self._message() for _ in range(r.randrange(3))), self._tag("retry in a batch", message)]
            r.shuffle(more)
            return "publish_many", {"agent_id": agent, "messages": more}
        return "publish", {"agent_id": agent, "message": message}

    def _as_sent(self, row: Row) -> dict[str, Any]:
        message: dict[str, Any] = {"id": row.id, "type": row.type}
        fields = {"to": row.to_agent, "correlation_id": row.correlation_id, "in_reply_to": row.in_reply_to}
        message |= {key: value for key, value in fields.items() if value is not None}
        if row.text is not None:
            try:
                message["payload"] = json.loads(row.text)
            except ValueError:
                message["payload"] = row.text
        return message

    def _change_payload(self, message: dict[str, Any]) -> None:
        r, old = self.r, message.get("payload")
        if isinstance(old, dict) and len(old) > 1 and r.random() < 0.6:
            message["payload"] = self._tag("retry in other order", dict(reversed(old.items())))
        elif isinstance(old, str) and old and r.random() < 0.7:
            others = (old[:-1] + "Q", unicodedata.normalize("NFD", old), old + " ", old.upper())
            message["payload"] = self._tag("retry with another payload", r.choice(others))
        elif "payload" in message and r.random() < 0.3:
            del message["payload"]
            self._tag("retry with another payload")
        else:
            message["payload"] = self._tag("retry with another payload", r.choice(LOOKALIKES))

    def _limit(self, there: int) -> dict[str, Any]:
        edges = {
            "limit 0": 0,
            "limit 1": 1,
            "as many as there are": there,
            "one more than there are": there + 1,
            "": max(1, there - self.r.choice((1, 1, 2))),
            "limit 2^63 - 1": 2**63 - 1,
            "limit 2^63": 2**63,
        }
        if self.r.random() < 0.45:
            return {}
        edge = self.r.choices(list(edges), (2, 5, 4, 4, 4, 1, 1))[0]
        return {"limit": self._tag(edge, edges[edge]) if edge else edges[edge]}

    def _poll(self) -> Drawn:
        agent = self._agent()
        wait = {"wait_ms": self.r.choice((0, 1, 20, 150))} if self.r.random() < 0.05 else {}
        there = [*self.model.again(agent), *self.model.unread(agent)]
        if there and self.theme != "volume" and self.r.random() < 0.2:
            self._before_the_ack(agent, there[0])
        return "poll", {"agent_id": agent, **self._limit(len(there)), **wait}

    def _before_the_ack(self, agent: str, row: Row) -> None:
        """Next, something happens to a message that was handed out; then it is looked for, and acknowledged."""
        at, seq, other = self.r.randrange(self.processes), row.seq, self.r.choice(self.agents)
        self.queue += [
            self.r.choice(
                (
                    call(at, "archive"),
                    call(at, "ack", agent_id=other, seq=seq),
                    call(at, "process_loop", agent_id=other),
                    call(at, "redrive", agent_id=other, seq=seq),
                    call(at, "export_to_jsonl"),
                    self._restart(at),
                )
            ),
            call(0, "archive"),
            call(0, "poll", agent_id=agent),
            call(0, "ack", agent_id=agent, seq=seq),
        ]

    def _a_row(self) -> Row | None:
        return self.r.choice(self.model.log) if self.model.log else None

    def _seq(self, agent: str) -> Any:
        """A number that means something to somebody."""
        r, m = self.r, self.model
        options: list[tuple[str, Any]] = [("seq 0", 0), ("seq 2^63", r.choice((2**63 - 1, 2**63)))]
        newest = max(m.everything(), key=lambda row: row.number, default=None)
        if newest is not None:
            options += [("newest", newest.seq)]
            ahead = changed(newest.seq, plus=1) if isinstance(newest.seq, Free) else newest.seq + 1
            highest = plain(m.highest) or 0
            options += [("newest + 1", ahead)] if newest.number == highest else []
            options += [("burned seq", highest)] if newest.number < highest else []
        options += [("archived seq", r.choice(m.archived).seq)] if m.archived else []
        others = [row.seq for row in m.log if row.to_agent not in (None, agent)]
        options += [("another's seq", r.choice(others))] if others else []
        tag, seq = r.choice(options)
        return self._tag(tag, seq)

    def _ack(self) -> Drawn:
        agent = self._agent()
        unread = self.model.unread(agent)[:4] + self.model.again(agent)
        if unread and self.r.random() < 0.7:
            return "ack", {"agent_id": agent, "seq": self.r.choice(unread).seq}
        return "ack", {"agent_id": agent, "seq": self._seq(agent)}

    def _process_loop(self) -> Drawn:
        agent = self._agent()
        redriven, unread = self.model.again(agent), self.model.unread(agent)[:4]
        params = {"agent_id": agent, **self._limit(len(redriven) + len(unread))}
        if redriven and self.r.random() < 0.6:
            params["fail_ids"] = [self._tag("fails a redriven one", self.r.choice(redriven).id)]
        elif unread and self.r.random() < 0.75:
            row = self.r.choice((unread[0], self.r.choice(unread)))
            counted = self.model.deliveries.get((agent, plain(row.seq)), 0)
            bounds = [process.get("deliveries_max") for process in self.options.values()]
            params["fail_ids"] = [self._tag("fails the last time" if counted + 1 in bounds else "fails", row.id)]
            most = max([bound for bound in bounds if bound is not None and bound < 10], default=0)
            if most > counted and self.r.random() < 0.3:
                again = self._tag("fails until it is dead", {"agent_id": agent, "fail_ids": params["fail_ids"]})
                times = range(most - counted)
                self.queue += [call(self.r.randrange(self.processes), "process_loop", **again) for _ in times]
            if len(unread) > 1 and self.r.random() < 0.3:
                params["fail_ids"] = [m.id for m in self._tag("several fail", self.r.sample(unread, len(unread)))]
        elif self.r.random() < 0.3:
            params["fail_ids"] = self.r.choice(([], ["nosuch"]))
        return "process_loop", params

    def _dead_letters(self) -> Drawn:
        return "dead_letters", {"agent_id": self._agent()}

    def _redrive(self) -> Drawn:
        agent = self._agent()
        mine = [row.seq for row in self.model.log if (agent, plain(row.seq)) in self.model.dead]
        theirs = [row.seq for row in self.model.log if any(seq == plain(row.seq) for _, seq in self.model.dead)]
        again = [row.seq for row in self.model.again(agent)]
        if mine and self.r.random() < 0.7:
            return "redrive", {"agent_id": agent, "seq": self._tag("redrive", self.r.choice(mine))}
        if again and self.r.random() < 0.5:
            return "redrive", {"agent_id": agent, "seq": self._tag("redrive twice", self.r.choice(again))}
        if theirs and self.r.random() < 0.6:
            return "redrive", {"agent_id": agent, "seq": self._tag("redrive another's", self.r.choice(theirs))}
        return "redrive", {"agent_id": agent, "seq": self._seq(agent)}

    def _claim(self) -> Drawn:
        return "try_claim_task", {"task_id": self.r.choice((self.tasks[0], *self.tasks)), "agent_id": self._agent()}

    def _held(self) -> dict[str, Any]:
        task = self.r.choice(sorted(self.model.claims) or self.tasks)
        claim = self.model.claims.get(task)
        agent = claim.claimed_by if claim and self.r.random() < 0.65 else self._agent()
        if claim and agent != claim.claimed_by:
            self._tag("another's claim")
        latest = self.model.tokens.get(task)
        params = {"task_id": task, "agent_id": agent}
        kind = self.r.choices(("latest token", "stale token", "token to come", "no token"), (4, 3, 1, 4))[0]
        self._tag(kind)
        if latest is None or (kind == "no token" and self.r.random() < 0.7):
            return params
        tokens = {"stale token": changed(latest, plus=-1), "token to come": changed(latest, plus=1), "no token": None}
        return {**params, "token": tokens.get(kind, latest)}

    def _renew(self) -> Drawn:
        return "renew_claim", self._held()

    def _release(self) -> Drawn:
        return "release_claim", self._held()

    def _heartbeat(self) -> Drawn:
        r = self.r
        params: dict[str, Any] = {"agent_id": self._agent(), "status": r.choice(("idle", "working", "blocked"))}
        if r.random() < 0.05:
            params["status"] = self._tag("bad text", r.choice(("Idle", "dead", "", "idle ")))
        if r.random() < 0.6:
            params["current_task"] = r.choice((None, "t", "k" * 1024, "\u00e9", "0", self.tasks[0]))
        if r.random() < 0.6:
            params["progress"] = r.choice((None, 0, 0.0, 1, 1.0, 0.5, -1, 2**53, 1e308, 0.1))
        elif r.random() < 0.1:
            params["progress"] = self._tag("junk", r.choice((True, "0.5", 2**63, [0])))
        return "heartbeat", params

    def _liveness(self) -> Drawn:
        return "liveness", {}

    def _save_blob(self) -> Drawn:
        return "save_blob", {"content": self._payload()}

    def _load_blob(self) -> Drawn:
        known = sorted(self.model.blobs)
        ref = self.r.choice(known) if known else "sha256-" + "0" * 64
        kinds = {"": ref, "upper case ref": ref.upper(), "cut ref": ref[:-1], "unknown ref": "sha256-" + "0" * 64}
        kinds["ref as a path"] = self.r.choice(("../bus.db", "../blobs/" + ref, ref + "\n", ref[7:]))
        kind = self.r.choices(list(kinds), (6, 1, 1, 1, 1))[0]
        if kind:
            self._tag(kind)
        return "load_blob", {"ref": kinds[kind]}

    def _export(self) -> Drawn:
        self.queue.append(call("hand", "exported"))
        return "export_to_jsonl", {}

    def _archive(self) -> Drawn:
        return "archive", {}

    def _search(self) -> Drawn:
        query = " ".join(self.r.choices(WORDS, k=self.r.choice((1, 1, 2))))
        kind, row = self.r.random(), self._a_row()
        if kind < 0.2:
            query = self._tag("query syntax", self.r.choice(QUERIES))
        elif kind < 0.5 and row is not None:
            query = self._words_of(row) or query
        if self.model.archived:
            self._tag("archived words")
        return "search", {"query": query, **self._limit(len(self.model.everything()))}

    def _words_of(self, row: Row) -> str:
        """Some that stand in its type or payload, in another case, side by side or apart."""
        if row.text is not None and len(row.text) > 10_000:
            return ""
        words = [word for word in [*words_of(row.type), *words_of(row.text)] if FOUND.fullmatch(word)]
        if not words:
            return ""
        at = self.r.randrange(len(words))
        chosen = self.r.choice((words[at : at + 1], words[at : at + 2], [words[at], self.r.choice(words)]))
        self._tag("words of a message")
        return self.r.choice((" ", " ", "_", "-")).join(
            self.r.choice((str.upper, str.title, str))(word) for word in chosen
        )

    def _transition(self) -> Drawn:
        worker = self.r.choice((self.tasks[0], *self.tasks))
        present = self.model.workers.get(worker)
        ways = sorted(WAYS[present] - (ENDS if self.r.random() < 0.7 else set()))
        what = self.r.random()
        if what < 0.55 and ways:
            params: dict[str, Any] = {"to_state": self._tag("way", self.r.choice(ways)), "from_state": present}
        elif what < 0.7 and present:
            before = [state for state in WAYS if present in WAYS[state]]
            params = {"to_state": self._tag("repeated way", present), "from_state": self.r.choice(before)}
        elif what < 0.85:
            believed = self._tag("stale belief", self.r.choice([state for state in WAYS if WAYS[state]]))
            params = {"to_state": self.r.choice(sorted(WAYS[believed])), "from_state": believed}
        else:
            to_state = self.r.choice((*STATES, "working", "", None))
            params = {
                "to_state": self._tag("no way", to_state),
                "from_state": self.r.choice((present, *STATES, "done")),
            }
        if params["from_state"] is None and self.r.random() < 0.5:
            del params["from_state"]
        if worker != self.tasks[0]:
            self._tag("another worker")
        return "transition", {"worker": worker, **params}

    def _worker_state(self) -> Drawn:
        return "worker_state", {"worker": self.r.choice(self.tasks)}

    def _status(self) -> Drawn:
        return "status", self._limit(sum(row.type in ("heartbeat", "state_change") for row in self.model.log))

    def _poll_intervals(self) -> Drawn:
        return "poll_intervals", {"polls": [self.r.random() < 0.2 for _ in range(self.r.randrange(10))]}


METHODS = tuple(name for name, method in CONTRACT.methods.items() if method.noun is not None)


def _things(method: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for kind, name in {"agent": "agent_id", "task": "task_id", "worker": "worker"}.items():
        if type(params.get(name)) is str:
            yield kind, params[name]
    yield "store", ""


def _conditions(model: WorkerModel, called: Called) -> Iterator[str]:
    agent, task, options = called.params.get("agent_id"), called.params.get("task_id"), model.sessions.get(called.at)
    if options is not None:
        yield from (f"option {name}" for name, value in vars(options).items() if value != getattr(Options, name))
    kept = ("archived", "harm", "exported_to", "workers", "deleted", "spoiled_mirrors", "is_torn", "is_forgotten")
    yield from (name for name in kept if getattr(model, name))
    keys = {(process.signing_key or "").lower() for process in model.sessions.values()}
    yield from ["keys differ"] * (len(keys) > 1)
    if type(agent) is str:
        unread, limit = model.unread(agent), called.params.get("limit", 100)
        yield f"unread {_against(len(unread) + len(model.again(agent)), limit)}"
        for name in ("redriven", "dead", "deliveries"):
            if any(who == agent for who, _ in getattr(model, name)):
                yield name
            if any(who != agent for who, _ in getattr(model, name)):
                yield f"another's {name}"
        if any(row.ref in model.harm for row in unread):
            yield "damage unread"
        yield f"cursor {_against(model.position(agent), model.highest)}"
    claim = model.claims.get(task) if type(task) is str else None
    if type(task) is str and claim is not None:
        yield "own claim" if claim.claimed_by == agent else "another's claim"
        yield f"lease {_against(claim.until_ms, called.now_ms)}"
        yield "token" if called.params.get("token") == plain(model.tokens.get(task)) else "other token"


def _against(value: Any, other: Any) -> str:
    value, other = plain(value), plain(other)
    if type(value) is not int or type(other) is not int:
        return "?"
    return "none" if not value else "below" if value < other else "at" if value == other else "above"


SPECIFICATION = Specification(
    "worker",
    WorkerModel,
    WorkerHand,
    WorkerGenerator,
    _things,
    EDGES,
    METHODS,
    needs_clock=False,
    conditions=_conditions,
)
