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

from busproof.bus.hand_relay import ODD_PROGRAM, RelayHand
from busproof.contract.common import T0_MS
from busproof.contract.relay import DEFAULTS
from busproof.oracle.models.relay import MS, RATE_WINDOW_MS, RelayModel
from busproof.oracle.models.relay_state import CopyRow, Place, Row
from busproof.oracle.models.relay_text import SAYER
from busproof.oracle.models.spec import plain
from busproof.play.explore.drawing import Drawing
from busproof.play.explore.orders import Called
from busproof.play.explore.relay_texts import CHANNELS, GOOD, bad_files, body_of, headers_of
from busproof.play.explore.script import Step, call
from busproof.play.explore.stage import Specification

NAMES = ("ann", "Ann", "bob", "b-1", "a_b", "axb", "lead2", "Systems", "x", "z" * 63)
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
    "Zo\u00eb",
    "a\u0661",
    "ann\n",
)
BAD_FILES = (
    *("1-0000abcd.MSG.msg", "1-0000ABCD.msg", "1-0000abc.msg", "-0000abcd.msg", "x-0000abcd.msg", " .msg", ".msg"),
    *("\u0661-0000abcd.msg", "1-0000abc\uff11.msg"),
)
OTHER_FILES = ("note.txt", "1-0000abcd.msg.tmp", "1-0000abcd.MSG", "msg")
NEAR = (-1, 0, 1)
MANY_TIMES = 1_000_000  # makes an attachment larger than any message
VOLUME, VOLUMES = 2_500, 0.0005  # messages, and how often
OF_SEVERAL = 300  # rounds of four senders' messages: more than a thousand in one scan
CROWD = 101  # due messages: more than a pass takes at once
STEPS_MS = (1, 50, 99, 100, 101, 1000, 5000, 60_000, 3_600_000, 86_400_000, 40 * 86_400_000)
BACK_MS = (1, 500, 5_000, 60_000, 3_600_000, 86_400_000, 40 * 86_400_000)
OPTIONS: dict[str, tuple[Any, ...]] = {  # the usual values come by themselves
    "settle_ms": (0, 1, 250, 6_000),
    "malformed_ms": (0, 50, 200, 20_000),
    "orphan_ms": (0, 1, 1_000, 90_000),
    "message_bytes_max": (60, 120, 300),
    "retries_max": (0, 1, 2, 7),
    "retry_ms": (0, 1, 500, 70_000),
    "rate_per_min": (1, 3, 3, 12),
    "retention_days": (0, 1, 2, 400),
    "agent_timeout_ms": (1, 10_000, 100_000_000),
    "archive": (False, False, True),
}
CONFIG = {
    "clis": {"sleeper": ["/bin/sh", "-c", "exec sleep 600", "sleeper"], "a sayer: 2": list(SAYER), "odd": [ODD_PROGRAM]}
}
# How often each is drawn; every program has its own mind about it, so that two rare ones meet in some of them.
LOVED = (0.2, 1, 1, 4)
STEPS = {
    "_write": 30,
    "_scan": 28,
    "_clock": 16,
    "_look": 10,
    "_again": 6,
    "_odd": 5,
    "_half": 3,
    "_agent": 2,
    "_attach": 2,
    "_life": 4,
    "_inbox": 2,
    "_copy": 3,
    "_process": 3,
}
ADDRESSES = {
    "to *": 12,
    "to #": 10,
    "to Lead": 6,
    "to __orchestrator__": 22,
    "bad address": 5,
    "to nobody": 7,
    "to oneself": 4,
    "to somebody": 34,
}
ASKED = {"status": 2, "continuity": 2, "spawn": 1, "release": 1, "message": 1, "ack": 1, "nack": 1}
BAD_ADDRESSES = (
    "lead",
    "#",
    "a b",
    "a.b",
    "system",
    "**",
    "@ann",
    "#1",
    "z" * 64,
    f"#{'z' * 64}",
    "-a",
    "caf\u00e9",
    "#caf\u00e9",
)

EDGES = (
    *(
        f"{what}{at:+}"
        for what in ("settle", "malformed", "orphan", "retry", "time-out", "rate", "size")
        for at in NEAR
    ),
    *("clock forward", "clock back", "future", "restart", "ended and begun", "reopen", "archive", "no archive"),
    *("second orchestrator", "not open", "claimed", "rewritten", "reused name", "file gone", "twin", "empty"),
    *("symlink", "not_regular", "hard_link", "one name again", "bad file name", "other file", "bad agent name"),
    *("linked agent", "late agent", "half file", "linked half file", "bad file", "to *", "to #", "to Lead"),
    *("to __orchestrator__", "to nobody", "to oneself", "bad address", "misdirected", "subscribe", "bad channel"),
    *("save", "load", "bad action", "spawn", "denied", "bad request", "agent exists", "release", "release of nobody"),
    *("attachment", "missing attachment", "corrupt attachment", "odd attachment", "wrong checksum", "priority"),
    *("same time", "earlier name", "lead is known", "to a terminated agent", "many"),
    *(f"later limit{at:+}" for at in NEAR),
    *("another's name", "before and after", "name of any length", "name of the inbox", "same looks", "copied"),
    *("in place", "nanosecond", "first times", "crowd", "inbox gone", "inbox blocked", "inbox free again"),
    *("attachment gone", "later config", "other orchestrator", "backup", "restore", "said", "ended by itself"),
    *("half file gone", "volume", "volume of several", "litter", "large attachment"),
)


class RelayGenerator(Drawing):
    """Draws the steps of one program."""

    def __init__(self, rng: random.Random, features: frozenset[str]) -> None:
        super().__init__(rng, features)
        self.names = rng.sample(NAMES, 4)
        self.options = self._options()
        self.steps, self.addresses, self.asked = (self._loved(texts) for texts in (STEPS, ADDRESSES, ASKED))

    def _loved(self, weights: dict[str, int]) -> dict[str, float]:
        return {name: weight * self.r.choice(LOVED) for name, weight in weights.items()}

    def _one_of(self, weights: dict[str, float]) -> str:
        return self.r.choices(list(weights), list(weights.values()))[0]

    @property
    def at(self) -> int:
        """The place of the orchestrator that has the folder, or may have it next."""
        return self.model.opened_by if isinstance(self.model.opened_by, int) else 0

    def start(self) -> Iterator[Step]:
        """Two agents that know each other, one that joins later, and an orchestrator."""
        yield self._config()
        yield Step("open", 0, params={"options": self.options})
        for name in self.names[:2]:
            yield call("hand", "agent", name=name)
        yield call(0, "scan")

    def _options(self) -> dict[str, Any]:
        """Some at unusual values: often none, seldom many."""
        rate = self.r.choice((0.0, 0.1, 0.1, 0.3))
        return {name: self.r.choice(values) for name, values in OPTIONS.items() if self.r.random() < rate}

    def _config(self, tags: tuple[str, ...] = ()) -> Step:
        """The owner's settings, options among them; those that an orchestrator is opened with win."""
        lead = {"lead": self.r.choice(self.names[:3])} if self.r.random() < 0.7 else {}
        roots = self.r.choice((["/usr"], ["/usr"], ["/usr/share", "/nowhere"], []))
        env = self.r.choice((["COLOUR", "SIZE"], ["COLOUR", "SIZE"], ["SIZE"], []))
        options = self._options() if self.r.random() < 0.3 else {}
        return call("hand", "config", tags, **CONFIG, roots=roots, env=env, **lead, **options)

    def end(self) -> Iterator[Step]:
        """A last look at everything; agents that were started end."""
        at = self.at
        for method in ("scan", "audit", "status"):
            yield call(at, method)
        yield from (call("hand", "ledger"), call("hand", "folder"), call(at, "close"), call("hand", "ledger"))

    def draw(self, model: Any, now_ms: int) -> Step:
        """The next step."""
        self.model: RelayModel = model
        self.now_ms, self.tags = now_ms, []
        if self.queue:
            return self.queue.pop(0)
        step: Step = getattr(self, self._one_of(self.steps))()
        return step

    # -- time

    def _clock(self) -> Step:
        """To a moment that decides something, or just on; seldom back."""
        deadlines = self._deadlines()
        what = self.r.random()
        if what < 0.08:
            step = Step("clock", params={"now_ms": max(0, self.now_ms - self.r.choice(BACK_MS))}, tags=("clock back",))
        elif deadlines and what < 0.8:
            kind, at_ms = self.r.choice(deadlines)
            near = self.r.choice(NEAR)
            step = Step("clock", params={"now_ms": at_ms + near}, tags=("clock forward", f"{kind}{near:+}"))
            self.queue.append(self._scan())
        else:
            step = Step("clock", params={"now_ms": self.now_ms + self.r.choice(STEPS_MS)}, tags=("clock forward",))
        return step

    def _deadlines(self) -> list[tuple[str, int]]:
        """Future events and their times."""
        settings, times = self.model.settings, list[tuple[str, int]]()
        for folder in self.model.folders.values():
            for file in folder.outbox.values():
                times.append(("settle", file.mtime_ns // MS + settings["settle_ms"]))
                times.append(("malformed", file.mtime_ns // MS + settings["malformed_ms"]))
            times += [("orphan", file.mtime_ns // MS + settings["orphan_ms"]) for file in folder.pending.values()]
        for agent in self.model.agents.values():
            times.append(("time-out", (agent.last_seen_at or agent.registered_at) + settings["agent_timeout_ms"]))
        for row in self.model.rows:
            if isinstance(row, Row):
                times.append(("rate", row.discovered_at + RATE_WINDOW_MS))
                if row.status == "pending" and row.retry_count:
                    times.append(("retry", row.processed_at + settings["retry_ms"] * 2 ** (row.retry_count - 1)))
        return [event for event in times if event[1] > self.now_ms]

    def _mtime_ns(self) -> int:
        """Old enough, or at an age that decides."""
        what = self.r.random()
        if what < 0.6:
            return (self.now_ms - max(200, int(self.model.settings["settle_ms"]))) * MS - self.serial
        if what < 0.63:
            return int(self._tag("first times", self.r.choice((0, 1, MS - 1, -1))))
        if what < 0.7:
            self.tags.append("future")
            return self.now_ms * MS + self.r.choice((1, MS, 50 * MS, 10_000 * MS))
        kind = self.r.choice(("settle", "malformed"))
        at_ns = (self.now_ms - int(self.model.settings[f"{kind}_ms"])) * MS
        if what < 0.8:
            self.tags.append("nanosecond")
            return at_ns + self.r.choice((-1, 1))
        near = self.r.choice(NEAR)
        self.tags.append(f"{kind}{-near:+}")
        return at_ns + near * MS

    # -- files

    def _file(self) -> str:
        """A new name."""
        self.serial += 1
        time_ns, what = self.now_ms * MS + self.serial, self.r.random()
        if what < 0.1:
            time_ns = self._tag("earlier name", self.r.choice((self.r.randrange(1, T0_MS * MS), self.r.randrange(100))))
        elif what < 0.2:
            time_ns = self._tag("same time", T0_MS * MS)
        elif what < 0.25:
            digits = self.r.choice(("0", "00", "7", "0000000000000000007", "9" * 18, "9" * 19, f"{2**63}"))
            return f"{self._tag('name of any length', digits)}-{self.serial:08x}.msg"
        elif what < 0.3 and (others := sorted({file for f in self.model.folders.values() for file in f.outbox})):
            return str(self._tag("another's name", self.r.choice(others)))
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
        if what < 0.005:
            return self._crowd()
        if what < 0.02:
            return self._many(sender)
        if self.r.random() < 0.06:
            return self._around(sender)
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

    def _around(self, sender: str) -> Step:
        """In one pass: a message, one that changes who gets such messages, and the same again."""
        other, text = self._sender(), self._text(sender)
        if self.r.random() < 0.5:
            text = f"TO: #dev\n\n{self.serial}"
        verb = self.r.choice(("", "UN"))
        change = self.r.choice((self._text(other), f"TO: __orchestrator__\nKIND: status\n\n{verb}SUBSCRIBE: #dev\n"))
        self.tags, steps = ["before and after"], list[Step]()
        for who, words in ((sender, text), (other, change), (sender, text)):
            self.serial += 1
            name = f"{self.now_ms * MS + self.serial}-{self.serial:08x}.msg"
            steps.append(self._written(who, name, words, (self.now_ms - 200) * MS))
        self.queue += [*steps[1:], self._scan()]
        return steps[0]

    def _crowd(self) -> Step:
        """More messages at once than a pass takes in one go, of any kinds. "#" is the number of each."""
        drawn = [self._text(self._sender()) for _ in range(9)]
        texts = [text for text in drawn if "#" not in text and "spawn" not in text][: self.r.choice((1, 2, 3))]
        self.serial, self.tags = self.serial + 1, ["crowd"]
        steps = [
            self._written(
                self._sender(), f"1{T0_MS}#-{self.serial:07x}{at}.msg", f"{text}#", (self.now_ms - 6_000) * MS
            )
            for at, text in enumerate(texts or [GOOD])
        ]
        return Step("many", calls=steps, tags=("crowd",), times=CROWD // len(steps) + 1)

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
        letters = self.r.choice((0, missing // 2))  # of two bytes each
        return data + "\u00e9" * letters + "x" * (missing - 2 * letters)

    def _text(self, sender: str) -> str:
        """A whole message, mostly a good one."""
        to, kind = self._to(sender), "message"
        if to == "__orchestrator__":
            kind = self._one_of(self.asked)
        elif self.r.random() < 0.3:
            kind = self.r.choice(("ack", "nack", "status"))
        elif self.r.random() < 0.03:
            kind = self._tag("misdirected", self.r.choice(("spawn", "release", "continuity")))
        names = [*self.names, "nobody"]
        alive = [name for name in names if self.model.is_there(name)]
        body, fields, tags = body_of(self.r, kind if to == "__orchestrator__" else "message", names, alive)
        self.tags += tags
        head, tags = headers_of(self.r, to, kind, body, fields, sorted(self.model.attachments))
        self.tags += tags
        return f"{head}\n{body}"

    def _to(self, sender: str) -> str:
        what = self._one_of(self.addresses)
        if what != "to somebody":
            self.tags.append(what)
        match what:
            case "to *":
                return "*"
            case "to #":
                return self.r.choice(("#dev", "#dev", *CHANNELS))
            case "to Lead":
                if self.model.is_there(self.model.settings.get("lead")):
                    self.tags.append("lead is known")
                return "Lead"
            case "to __orchestrator__":
                return "__orchestrator__"
            case "bad address":
                return self.r.choice(BAD_ADDRESSES)
            case "to nobody":
                return self.r.choice(("nobody", *self.names[2:]))
            case "to oneself":
                return sender
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
        if what < 0.15:
            return self._alike()
        if what < 0.35 and gone:
            agent, file = self.r.choice(gone)
            self.tags.append("reused name")
            return self._written(agent, file, self._text(agent), self._mtime_ns())
        if not there:
            return self._write()
        agent, file = self.r.choice(there)
        if what < 0.5:
            return call("hand", "remove", ("file gone",), agent=agent, file=file)
        self.serial += 1
        data = self._text(agent) if self.r.random() < 0.8 else self._tag("bad file", "TO bob\n\n")
        self.tags.append("rewritten")
        mtime_ns = self.model.folders[agent].outbox[file].mtime_ns + self.r.choice((-1, 0, 1))
        if self.r.random() < 0.7:
            mtime_ns = self._mtime_ns()
        return self._written(agent, file, data, mtime_ns, **self._over(agent, file))

    def _over(self, agent: str, file: str) -> dict[str, str]:
        """A file may come in the place of one, or be written over it; then it keeps its inode."""
        before = self.model.folders[agent].outbox.get(file)
        if before is None or before.odd or self.r.random() < 0.5:
            return {}
        return {"odd": self._tag("in place", "in_place")}

    def _alike(self) -> Step:
        """A file of the same length and time in the place of one, or of one that was archived: another one, or a copy.

        A folder that is copied to another disk with its times has other inodes.
        """
        alike = [
            (name, file, kept.data.decode(errors="replace"), kept.mtime_ns)
            for name, folder in self.model.folders.items()
            for file, kept in folder.outbox.items()
            if kept.data[-1:].isalnum() and not kept.odd
        ]
        alike += [
            (row.agent, row.file, "x" * row.size, row.mtime_ns)
            for row in self.model.rows
            if isinstance(row, Row) and row.status == "archived" and 0 < row.size < VOLUME
        ]
        if not alike:
            return self._write()
        agent, file, data, mtime_ns = self.r.choice(alike)
        if self.r.random() < 0.3:
            self.tags.append("copied")
            return self._written(agent, file, data, mtime_ns)
        self.tags.append("same looks")
        data = data[:-1] + ("y" if data[-1] != "y" else "z")
        return self._written(agent, file, data, mtime_ns, **self._over(agent, file))

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
        for name, file in sorted(self.model.folders[sender].outbox.items()) if sender in self.model.folders else ():
            if file.odd == "hard_link" and self.r.random() < 0.5:
                tagged = self._tag("one name again", name)
                return self._written(sender, tagged, file.data.decode(), file.mtime_ns, odd="one_name")
        odd = self._tag(*[self.r.choice(("symlink", "not_regular", "hard_link"))] * 2)
        there = sorted(self.model.folders[sender].outbox) if sender in self.model.folders else []
        name = self.r.choice(there) if there and self.r.random() < 0.3 else self._file()
        data = "" if odd == "not_regular" and self.r.random() < 0.5 else f"TO: {self.names[0]}\n\nodd"
        return self._written(sender, name, data, mtime_ns, odd=odd)

    def _half(self) -> Step:
        """A file that is being written, or was."""
        sender = self._sender()
        there = sorted(self.model.folders[sender].outbox) if sender in self.model.folders else []
        halves = sorted(self.model.folders[sender].pending) if sender in self.model.folders else []
        if halves and self.r.random() < 0.15:
            return call(
                "hand", "remove", ("half file gone",), agent=sender, file=self.r.choice(halves), place="pending"
            )
        near = self.r.choice((*NEAR, -20_000))
        age_ms = self.model.settings["orphan_ms"] + near
        if near in NEAR:
            self.tags.append(f"orphan{near:+}")
        mtime_ns = (self.now_ms - age_ms) * MS + self.r.choice((0, 0, 0, -1, 1))
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
            odd = self.r.choice(("not_regular", "symlink", "hard_link"))
            return call("hand", "attach", ("odd attachment",), name=name, data=data, odd=odd)
        if what < 0.45 and self.model.attachments:
            name = self.r.choice(sorted(self.model.attachments))
            return call("hand", "detach", ("attachment gone",), name=name)
        return call("hand", "attach", name=name, data=data)

    # -- the orchestrator

    def _scan(self) -> Step:
        return call(self.at, "scan")

    def _inbox(self) -> Step:
        """An agent takes its inbox away, or puts something else in its place."""
        agent = self._sender()
        blocked = sorted(name for name, folder in self.model.folders.items() if folder.blocked)
        if blocked and self.r.random() < 0.5:
            return call("hand", "unblock", ("inbox free again",), agent=self.r.choice(blocked))
        if agent in self.model.folders and self.model.folders[agent].blocked:
            return self._scan()
        if self.r.random() < 0.5:
            return call("hand", "take", ("inbox gone",), agent=agent, folder_too=True)
        return call("hand", "block", ("inbox blocked",), agent=agent, odd=self.r.choice(("symlink", "not_regular")))

    def _copy(self) -> Step:
        """The ledger is copied, or a copy of it is put back."""
        places = [free for free in self.model.frees.values() if isinstance(free, Place)]
        made = [p for p in places if plain(p) in self.model.copies and self._may_come_back(str(plain(p)))]
        if len(places) < 2 and self.r.random() < 0.5:
            return call("hand", "place")
        if made and self.r.random() < 0.6:
            self.queue.append(self._scan())
            return call(self.at, "restore", ("restore",), path=self.r.choice(made))
        return call(self.at, "backup", ("backup",), path=self.r.choice(places)) if places else self._scan()

    def _may_come_back(self, path: str) -> bool:
        """Does the copy know all handled files that lie in outboxes? Nobody says how it ends with the others."""
        known = {(row.path, row.status) for row in self.model.copies[path].rows if isinstance(row, Row)}
        return all(
            (row.path, row.status) in known
            for row in self.model.rows
            if isinstance(row, Row) and row.status != "pending" and row.file in self.model.folders[row.agent].outbox
        )

    def _running(self) -> list[str]:
        return sorted(name for name, agent in self.model.agents.items() if self.model.runs(agent))

    def _process(self) -> Step:
        """A look at an agent's process, or its end."""
        if not self._running():
            return self._write()
        name = self.r.choice(self._running())
        if self.r.random() < 0.4:
            self.queue += [self._scan()] if self.r.random() < 0.7 else []
            return call("hand", "kill", ("ended by itself",), agent=name)
        says = self.model.agents[name].said is not None
        return call("hand", "said", ("said",), agent=name) if says else self._scan()

    def _look(self) -> Step:
        what = self.r.choice(("ledger", "ledger", "folder", "take", "status", "audit", "metrics", "dump"))
        if what == "take":
            return call("hand", "take", agent=self._sender())
        return call("hand" if what in ("ledger", "folder") else self.at, what)

    def _life(self) -> Step:
        """The orchestrator dies, ends, or another one comes."""
        what, at = self.r.random(), self.at
        pending = [row for row in self.model.rows if isinstance(row, Row) and row.status == "pending"]
        if what < 0.3 and pending:
            row = self.r.choice(pending)
            self.queue = [
                self._scan(),
                Step("restart", at, params={"kill": True}, tags=("restart",)),
                call("hand", "ledger"),
            ]
            if self.r.random() < 0.4:
                self.queue.insert(1, call("hand", "remove", agent=row.agent, file=row.file))
            return call("hand", "claim", ("claimed",), message_id=row.message_id)
        if what < 0.5:
            is_kill = self.r.random() < 0.7
            step = Step("restart", at, params={"kill": is_kill}, tags=("restart" if is_kill else "ended and begun",))
            if self.r.random() < 0.7:
                return step
            self.queue = [step]  # what the same process, or the next one, reads of the settings
            return self._config(("later config",))
        if what < 0.65:
            return Step("open", 1 - at, params={"options": {}}, tags=("second orchestrator",))
        if what < 0.75:
            self.queue = [self._reopened(pending, self._tag("other orchestrator", 1 - at))]
            return call(at, "close")
        self.queue = [self._reopened(pending, at)]
        if self.r.random() < 0.3:
            self.queue.insert(0, self._config(("later config",)))
        if self.r.random() < 0.3:
            self.queue.insert(0, call(at, "scan", ("not open",)))
        return call(at, "close")

    def _reopened(self, pending: list[Row], at: int) -> Step:
        """Open with other options; a limit may forbid files that wait already."""
        options, tags = self._options(), ["reopen", *self.tags]
        if options.get("archive", True) != self.model.settings["archive"]:
            tags.append("archive" if self.model.settings["archive"] is False else "no archive")
        if pending and self.r.random() < 0.5:
            row, near = self.r.choice(pending), self.r.choice(NEAR)
            options["message_bytes_max"] = max(1, row.size - near)
            tags.append(f"later limit{near:+}")
        return Step("open", at, params={"options": options}, tags=tuple(tags))


def _things(method: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "store", ""


def _conditions(model: RelayModel, called: Called) -> Iterator[str]:
    """Conditions that may matter to a call in this state, in a person's words."""
    if called.at == "hand":
        return
    yield from (f"option {name}" for name, value in DEFAULTS.items() if model.settings[name] != value)
    yield "a first pass" if model.pass_ms == 0 else "a later pass"
    if model.pass_ms:
        yield f"the clock is {_against(called.now_ms, model.pass_ms)}"
    for row in model.rows:
        if isinstance(row, CopyRow):
            yield "a lost copy" if row.is_lost else "a copy"
            continue
        file = model.folders[row.agent].outbox.get(row.file)
        yield row.status if row.tried_at is None else f"{row.status} after an attempt"
        if file is None:
            yield f"{row.status} without its file" if row.status in ("pending", "processing") else row.status
        elif file.odd:
            yield f"{row.status}, and now {file.odd}"
        else:
            is_as = (row.size, row.mtime_ns) == (len(file.data), file.mtime_ns)
            yield f"{row.status}, and its file is {'as it was' if is_as else 'another'}"
    for folder in model.folders.values():
        yield from (f"{pending.odd or 'a file'} in .pending" for pending in folder.pending.values())
        if folder.blocked or folder.is_inbox_gone:
            yield f"an inbox is {folder.blocked or 'gone'}"
        for waiting in folder.outbox.values():
            yield f"a file's time is {_against(waiting.mtime_ns, called.now_ms * MS)}"
    for agent in model.agents.values():
        yield f"an agent is {agent.status}"
        if agent.pid is not None:
            yield "a process runs" if model.runs(agent) else "a process has ended"
        if agent.state:
            yield "a saved state"
    held = {"waiting for the rate": model.limited, "subscribers": model.channels, "attachments": model.attachments}
    yield from (what for what, holds in held.items() if holds)
    if called.at != 0:
        yield "another orchestrator"
    if model.is_put_back:
        yield "a ledger that was put back"


def _against(value: int, other: int) -> str:
    return "below" if value < other else "at" if value == other else "above"


METHODS = ("scan", "status", "audit", "metrics", "dump", "backup", "restore")

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
    conditions=_conditions,
    answer_s_max=60.0,  # a pass over 2,500 files takes 10 s on a busy machine
)
