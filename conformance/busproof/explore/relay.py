"""Programs for `relay`: three or four agents, one orchestrator and one that comes too early.

The hand writes and reads as agents do; the orchestrator is asked for one pass at a time. The steps that matter now are
drawn from the model's state: files at each age that decides, sizes at the limit, names that were used. A step that was
drawn for an edge says so in a tag; `EDGES` lists them all, and the corpus must hold each.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from typing import Any

from busproof.adapters.hand_relay import RelayHand
from busproof.explore.drawing import Drawing
from busproof.explore.relay_texts import bad_files, body_of, headers_of
from busproof.explore.script import Step, call
from busproof.explore.stage import T0_MS, Specification
from busproof.models.relay import MS, RATE_WINDOW_MS, RelayModel
from busproof.models.relay_state import Row

NAMES = ("ann", "Ann", "bob", "b-1", "a_b", "lead2", "Systems", "x", "z" * 63)
BAD_NAMES = (
    "__orchestrator__",
    "system",
    "ROOT",
    "Admin",
    "lead",
    "Lead",
    "LEAD",
    "z" * 64,
    "1a",
    "-a",
    "a.b",
    "a b",
    "\u00e9",
)
BAD_FILES = (
    "1-0000abcd.MSG.msg",
    "1-0000ABCD.msg",
    "1-0000abc.msg",
    "-0000abcd.msg",
    "x-0000abcd.msg",
    " .msg",
    ".msg",
)
OTHER_FILES = ("note.txt", "1-0000abcd.msg.tmp", "1-0000abcd.MSG", "msg")
NEAR = (-1, 0, 1)
MANY_TIMES = 1_000_000  # makes an attachment larger than any message
VOLUME, VOLUMES = 2_500, 0.0005  # messages, and how often
OF_SEVERAL = 300  # rounds of four senders' messages: more than a thousand in one scan
STEPS_MS = (1, 50, 99, 100, 101, 1000, 5000, 60_000, 3_600_000, 86_400_000, 40 * 86_400_000)
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"rate_per_min": 3},
    {"message_bytes_max": 120},
    {"retries_max": 0},
    {"retries_max": 1, "retry_ms": 500},
    {"archive": False},
    {"retention_days": 1},
    {"retention_days": 0},
    {"agent_timeout_ms": 10_000},
    {"settle_ms": 0, "malformed_ms": 200, "orphan_ms": 1_000},
)
CONFIG = {
    "clis": {"sleeper": ["/bin/sh", "-c", "exec sleep 600", "sleeper"], "missing": ["/nonexistent/program"]},
    "roots": ["/usr"],
    "env": ["COLOUR", "SIZE"],
}

EDGES = (
    *(
        f"{what}{at:+}"
        for what in ("settle", "malformed", "orphan", "retry", "time-out", "rate", "size")
        for at in NEAR
    ),
    *(
        "clock forward",
        "clock back",
        "future",
        "restart",
        "ended and begun",
        "reopen",
        "archive",
        "no archive",
        "second orchestrator",
        "not open",
        "claimed",
    ),
    *("rewritten", "reused name", "file gone", "twin", "empty"),
    *("symlink", "not_regular", "hard_link", "one name again", "bad file name"),
    *("other file", "bad agent name", "linked agent", "late agent", "half file", "linked half file", "bad file"),
    *("to *", "to #", "to Lead", "to __orchestrator__", "to nobody", "to oneself", "bad address", "misdirected"),
    *("subscribe", "bad channel", "save", "load", "bad action", "spawn", "denied", "bad request", "agent exists"),
    *("release", "release of nobody", "attachment", "missing attachment", "corrupt attachment", "odd attachment"),
    *("wrong checksum", "priority", "same time", "earlier name", "lead is known", "to a terminated agent", "many"),
    *(f"later limit{at:+}" for at in NEAR),
    *("volume", "volume of several", "litter", "large attachment"),
)


class RelayGenerator(Drawing):
    """Draws the steps of one program."""

    def __init__(self, rng: random.Random, features: frozenset[str]) -> None:
        super().__init__(rng, features)
        self.names = rng.sample(NAMES, 4)
        self.options = rng.choice(OPTIONS)

    def start(self) -> Iterator[Step]:
        """Two agents that know each other, one that joins later, and an orchestrator."""
        lead = {"lead": self.names[0]} if self.r.random() < 0.7 else {}
        yield call("hand", "config", **CONFIG, **lead)
        yield Step("open", 0, params={"options": self.options})
        for name in self.names[:2]:
            yield call("hand", "agent", name=name)
        yield call(0, "scan")

    def end(self) -> Iterator[Step]:
        """A last look at everything; agents that were started end."""
        for method in ("scan", "audit", "status"):
            yield call(0, method)
        yield from (call("hand", "ledger"), call("hand", "folder"), call(0, "close"), call("hand", "ledger"))

    def draw(self, model: Any, now_ms: int) -> Step:
        """The next step."""
        self.model: RelayModel = model
        self.now_ms, self.tags = now_ms, []
        if self.queue:
            return self.queue.pop(0)
        kinds = {
            self._write: 30,
            self._scan: 28,
            self._clock: 16,
            self._look: 10,
            self._again: 6,
            self._odd: 5,
            self._half: 3,
            self._agent: 2,
            self._attach: 2,
            self._life: 4,
        }
        return self.r.choices(list(kinds), list(kinds.values()))[0]()

    # -- time

    def _clock(self) -> Step:
        """To a moment that decides something, or just on; seldom back."""
        deadlines = self._deadlines()
        what = self.r.random()
        if what < 0.08:
            step = Step(
                "clock", params={"now_ms": self.now_ms - self.r.choice((1, 500, 86_400_000))}, tags=("clock back",)
            )
        elif deadlines and what < 0.8:
            kind, at_ms = self.r.choice(deadlines)
            near = self.r.choice(NEAR)
            step = Step("clock", params={"now_ms": at_ms + near}, tags=("clock forward", f"{kind}{near:+}"))
            self.queue.append(call(0, "scan"))
        else:
            step = Step("clock", params={"now_ms": self.now_ms + self.r.choice(STEPS_MS)}, tags=("clock forward",))
        return step

    def _deadlines(self) -> list[tuple[str, int]]:
        """Future events and their times."""
        settings, found = self.model.settings, list[tuple[str, int]]()
        for folder in self.model.folders.values():
            for one in folder.outbox.values():
                found.append(("settle", one.mtime_ns // MS + settings["settle_ms"]))
                found.append(("malformed", one.mtime_ns // MS + settings["malformed_ms"]))
            found += [("orphan", one.mtime_ns // MS + settings["orphan_ms"]) for one in folder.pending.values()]
        for agent in self.model.agents.values():
            found.append(("time-out", (agent.last_seen_at or agent.registered_at) + settings["agent_timeout_ms"]))
        for row in self.model.rows:
            if isinstance(row, Row):
                found.append(("rate", row.discovered_at + RATE_WINDOW_MS))
                if row.status == "pending" and row.retry_count:
                    found.append(("retry", row.processed_at + settings["retry_ms"] * 2 ** (row.retry_count - 1)))
        return [one for one in found if one[1] > self.now_ms]

    def _mtime_ns(self) -> int:
        """Old enough, or at an age that decides."""
        what = self.r.random()
        if what < 0.6:
            return (self.now_ms - 200) * MS - self.serial
        if what < 0.68:
            self.tags.append("future")
            return (self.now_ms + self.r.choice((1, 50, 10_000))) * MS
        kind = self.r.choice(("settle", "malformed"))
        near = self.r.choice(NEAR)
        self.tags.append(f"{kind}{-near:+}")
        return (self.now_ms - int(self.model.settings[f"{kind}_ms"]) + near) * MS

    # -- files

    def _file(self) -> str:
        """A new name."""
        self.serial += 1
        time_ns, what = self.now_ms * MS + self.serial, self.r.random()
        if what < 0.1:
            time_ns = self._tag("earlier name", self.r.choice((self.r.randrange(1, T0_MS * MS), self.r.randrange(100))))
        elif what < 0.2:
            time_ns = self._tag("same time", T0_MS * MS)
        return f"{time_ns}-{self.serial:08x}.msg"

    def _sender(self) -> str:
        known = sorted(
            name for name, folder in self.model.folders.items() if not folder.odd and name in self.model.agents
        )
        return self.r.choice(known) if known and self.r.random() < 0.95 else self.r.choice(self.names)

    def _written(self, agent: str, file: str, data: str, mtime_ns: int, **more: Any) -> Step:
        return call("hand", "write", self.tags, agent=agent, file=file, data=data, mtime_ns=mtime_ns, **more)

    def _write(self) -> Step:
        """A message, or seldom a file that is none."""
        sender = self._sender()
        file, mtime_ns, what = self._file(), self._mtime_ns(), self.r.random()
        inbox = self.model.folders[sender].inbox if sender in self.model.folders else []
        if inbox and self.r.random() < 0.03:
            # An agent that forwards a file may keep its name.
            self.tags.append("name of the inbox")
            return self._written(sender, self.r.choice(inbox).name, self._text(sender), mtime_ns)  # type: ignore[arg-type]
        if what < VOLUMES:
            return self._volume(sender)
        if what < 0.02:
            return self._many(sender)
        if what < 0.05:
            return self._written(sender, file, self._tag("empty", ""), mtime_ns)
        if what < 0.16:
            data, end = self._tag("bad file", self.r.choice(bad_files()))
            return self._written(sender, file, data, mtime_ns, **({"end": end} if end else {}))
        data = self._text(sender)
        if what < 0.22:
            data = self._sized(data)
        return self._written(sender, file, data, mtime_ns)

    def _many(self, sender: str) -> Step:
        """Several at once: for the rate, and for the order in one scan."""
        self.tags.append("many")
        steps = [
            self._written(sender, self._file(), self._text(sender), (self.now_ms - 200) * MS)
            for _ in range(self.r.choice((3, 4, 12)))
        ]
        self.queue += steps[1:]
        return steps[0]

    def _volume(self, sender: str) -> Step:
        """More than any batch of a pass. "#" is the number of each."""
        self.serial += 1
        if self.r.random() < 0.5:
            return self._volume_of_several()
        step = self._written(
            sender, f"1{T0_MS}#-{self.serial:08x}.msg", f"TO: {self.names[1]}\n\n#", (self.now_ms - 200) * MS
        )
        return Step("many", step.at, step.method, step.params, tags=(*self.tags, "volume"), times=VOLUME)

    def _volume_of_several(self) -> Step:
        """The same for several senders with several priorities: the order is that of all, not of each batch."""
        steps = [
            self._written(
                self._sender(),
                f"1{T0_MS}#-{self.serial:07x}{at}.msg",
                f"TO: {self.names[1]}\nPRIORITY: {self.r.randrange(10)}\n\n#",
                (self.now_ms - 200) * MS,
            )
            for at in range(4)
        ]
        return Step("many", calls=steps, tags=(*self.tags, "volume of several"), times=OF_SEVERAL)

    def _sized(self, data: str) -> str:
        """As many bytes as a message may have, one less, one more."""
        most, near = self.model.settings["message_bytes_max"], self.r.choice(NEAR)
        missing = int(most) + near - len(data.encode())
        # The operating system limits the length of a prompt for a program.
        if missing <= 0 or "KIND: spawn" in data or (most > 1000 and self.r.random() < 0.6):
            return data
        self.tags.append(f"size{near:+}")
        return data + "x" * missing

    def _text(self, sender: str) -> str:
        """A whole message, mostly a good one."""
        to, kind = self._to(sender), "message"
        if to == "__orchestrator__":
            kind = self.r.choice(
                ("status", "status", "continuity", "continuity", "spawn", "release", "message", "ack", "nack")
            )
        elif self.r.random() < 0.3:
            kind = self.r.choice(("ack", "nack", "status"))
        elif self.r.random() < 0.03:
            kind = self._tag("misdirected", self.r.choice(("spawn", "release", "continuity")))
        names = [*self.names, "nobody"]
        alive = [name for name in names if self.model.is_there(name)]
        body, tags = body_of(self.r, kind if to == "__orchestrator__" else "message", names, alive)
        self.tags += tags
        head, tags = headers_of(self.r, kind, body, sorted(self.model.attachments))
        self.tags += tags
        return f"TO: {to}\n{head}\n{body}"

    def _to(self, sender: str) -> str:
        what = self.r.random()
        if what < 0.12:
            return str(self._tag("to *", "*"))
        if what < 0.22:
            return str(self._tag("to #", self.r.choice(("#dev", "#dev", "#Dev"))))
        if what < 0.28:
            if self.model.is_there(self.model.settings.get("lead")):
                self.tags.append("lead is known")
            return str(self._tag("to Lead", "Lead"))
        if what < 0.5:
            return str(self._tag("to __orchestrator__", "__orchestrator__"))
        if what < 0.55:
            return str(
                self._tag(
                    "bad address", self.r.choice(("lead", "#", "a b", "a.b", "system", "**", "@ann", "#1", "z" * 64))
                )
            )
        if what < 0.62:
            return str(self._tag("to nobody", self.r.choice(("nobody", *self.names[2:]))))
        if what < 0.66:
            return str(self._tag("to oneself", sender))
        to = self.r.choice(self.names)
        if to in self.model.agents and self.model.agents[to].status == "terminated":
            self.tags.append("to a terminated agent")
        return to

    def _again(self) -> Step:
        """A file that is there, or was, comes in another form."""
        there = [
            (name, file) for name, folder in self.model.folders.items() for file in folder.outbox if not folder.odd
        ]
        gone = [
            (row.agent, row.file)
            for row in self.model.rows
            if isinstance(row, Row) and row.status not in ("pending", "processing")
        ]
        what = self.r.random()
        if what < 0.35 and gone:
            agent, file = self.r.choice(gone)
            return (
                self._written(agent, file, self._text(agent), self._mtime_ns())
                if self._new("reused name")
                else self._scan()
            )
        if not there:
            return self._write()
        agent, file = self.r.choice(there)
        if what < 0.5:
            return call("hand", "remove", ("file gone",), agent=agent, file=file)
        self.serial += 1
        data = self._text(agent) if self.r.random() < 0.8 else self._tag("bad file", "TO bob\n\n")
        return self._written(agent, file, data, self._mtime_ns()) if self._new("rewritten") else self._scan()

    def _new(self, tag: str) -> bool:
        self.tags.append(tag)
        return True

    def _odd(self) -> Step:
        """A file that no agent should put into its outbox."""
        sender, mtime_ns = self._sender(), (self.now_ms - 200) * MS
        what = self.r.random()
        if what < 0.2:
            name = self._tag("bad file name", self.r.choice(BAD_FILES))
            return self._written(sender, name, f"TO: {self.names[0]}\n\nhi", mtime_ns)
        if what < 0.3:
            name = self._tag("other file", self.r.choice(OTHER_FILES))
            return self._written(sender, name, f"TO: {self.names[0]}\n\nhi", mtime_ns)
        for name, one in sorted(self.model.folders[sender].outbox.items()) if sender in self.model.folders else ():
            if one.odd == "hard_link" and self.r.random() < 0.5:
                tagged = self._tag("one name again", name)
                return self._written(sender, tagged, one.data.decode(), one.mtime_ns, odd="one_name")
        odd = self._tag(*[self.r.choice(("symlink", "not_regular", "hard_link"))] * 2)
        there = sorted(self.model.folders[sender].outbox) if sender in self.model.folders else []
        name = self.r.choice(there) if there and self.r.random() < 0.3 else self._file()
        data = "" if odd == "not_regular" and self.r.random() < 0.5 else f"TO: {self.names[0]}\n\nodd"
        return self._written(sender, name, data, mtime_ns, odd=odd)

    def _half(self) -> Step:
        """A file that is being written, or was."""
        sender = self._sender()
        there = sorted(self.model.folders[sender].outbox) if sender in self.model.folders else []
        near = self.r.choice((*NEAR, -20_000))
        age_ms = self.model.settings["orphan_ms"] + near
        if near in NEAR:
            self.tags.append(f"orphan{near:+}")
        mtime_ns = (self.now_ms - age_ms) * MS
        if self.r.random() < 0.15:
            mtime_ns = (self.now_ms + self.r.choice((10_000, 3_600_000))) * MS
            self.tags.append("future")
        if there and self.r.random() < 0.5:
            odd = self.r.choice((*[""] * 6, "symlink", "not_regular", "hard_link"))
            more = {"odd": odd} if odd else {}
            return self._written(
                sender,
                self._tag("twin", self.r.choice(there)),
                "TO: b",
                (self.now_ms - 1) * MS,
                place="pending",
                **more,
            )
        if self.r.random() < 0.2:
            odd = self.r.choice(("symlink", "not_regular"))
            return self._written(
                sender, self._tag("linked half file", self._file()), "TO: b", mtime_ns, place="pending", odd=odd
            )
        # A writer may give it any name.
        name = self.r.choice(OTHER_FILES) if self.r.random() < 0.3 else self._file()
        return self._written(sender, self._tag("half file", name), "TO: b", mtime_ns, place="pending")

    def _agent(self) -> Step:
        """One more agent, under a good name or a bad one."""
        what = self.r.random()
        if what < 0.3:
            return call("hand", "agent", ("bad agent name",), name=self.r.choice(BAD_NAMES))
        if what < 0.4 and "linked" not in self.model.folders:
            return call("hand", "link_agent", ("linked agent",), name="linked")
        if what < 0.5:
            return call("hand", "litter", ("litter",), name=self.r.choice(("notes.txt", "0", "README", "\u00e9")))
        return call("hand", "agent", ("late agent",), name=self.r.choice(self.names[2:]))

    def _attach(self) -> Step:
        """An attachment, under its own hash or another's."""
        data, what = self.r.choice(("big", "bigger", "", "\u00e9")), self.r.random()
        if what > 0.9:
            name = hashlib.sha256(b"big" * MANY_TIMES).hexdigest()
            return call("hand", "attach", ("large attachment",), name=name, data="big", times=MANY_TIMES)
        name = hashlib.sha256(data.encode()).hexdigest()
        if what < 0.2:
            return call("hand", "attach", ("corrupt attachment",), name=name, data=data + "!")
        if what < 0.3:
            return call("hand", "attach", ("odd attachment",), name=name, data="", odd=True)
        return call("hand", "attach", name=name, data=data)

    # -- the orchestrator

    def _scan(self) -> Step:
        return call(0, "scan")

    def _look(self) -> Step:
        what = self.r.choice(("ledger", "ledger", "folder", "take", "status", "audit", "metrics", "dump"))
        if what == "take":
            return call("hand", "take", agent=self._sender())
        return call("hand" if what in ("ledger", "folder") else 0, what)

    def _life(self) -> Step:
        """The orchestrator dies, ends, or another one comes."""
        what = self.r.random()
        pending = [row for row in self.model.rows if isinstance(row, Row) and row.status == "pending"]
        if what < 0.3 and pending:
            row = self.r.choice(pending)
            self.queue = [
                call(0, "scan"),
                Step("restart", 0, params={"kill": True}, tags=("restart",)),
                call("hand", "ledger"),
            ]
            if self.r.random() < 0.4:
                self.queue.insert(1, call("hand", "remove", agent=row.agent, file=row.file))
            return call("hand", "claim", ("claimed",), message_id=row.message_id)
        if what < 0.5:
            is_kill = self.r.random() < 0.7
            return Step("restart", 0, params={"kill": is_kill}, tags=("restart" if is_kill else "ended and begun",))
        if what < 0.7:
            return Step("open", 1, params={"options": {}}, tags=("second orchestrator",))
        self.queue = [self._reopened(pending)]
        if self.r.random() < 0.3:
            self.queue.insert(0, call(0, "scan", ("not open",)))
        return call(0, "close")

    def _reopened(self, pending: list[Row]) -> Step:
        """Open with other options; a limit may forbid files that wait already."""
        options, tags = dict(self.r.choice(OPTIONS)), ["reopen"]
        if options.get("archive", True) != self.model.settings["archive"]:
            tags.append("archive" if self.model.settings["archive"] is False else "no archive")
        if pending and self.r.random() < 0.5:
            row, near = self.r.choice(pending), self.r.choice(NEAR)
            options["message_bytes_max"] = max(1, row.size - near)
            tags.append(f"later limit{near:+}")
        return Step("open", 0, params={"options": options}, tags=tuple(tags))


def _things(method: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "store", ""


METHODS = ("scan", "status", "audit", "metrics", "dump")

# A pass answers with numbers; the ledger, the folder or the audit log names the file.
CLOSER: dict[str, tuple[tuple[int | str, str], ...]] = {"scan": (("hand", "ledger"), (0, "audit"), ("hand", "folder"))}

SPECIFICATION = Specification(
    "relay",
    RelayModel,
    RelayHand,
    RelayGenerator,
    _things,
    EDGES,
    METHODS,
    closer=CLOSER,
    answer_s_max=60.0,  # a pass over 2,500 files takes 10 s on a busy machine
)
