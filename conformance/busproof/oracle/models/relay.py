"""`relay` (seed 002, decisions R1 to R31) as an executable specification: read it as the seed's text.

Agents are folders. Each has an outbox, which it writes, and an inbox, which it reads; the orchestrator looks at all
outboxes (`scan`), enters the files it finds in the ledger, delivers them, and moves them to the archive. The calls of
the kit's hand tell what agents do. Nothing here knows files, SQL or processes.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from posixpath import normpath
from typing import Any

from busproof.contract import CONTRACTS
from busproof.contract.relay import DEFAULTS
from busproof.oracle.models.parts import ANYTHING
from busproof.oracle.models.relay_state import (
    EVENT_ROWS,
    SOME_NUMBER,
    UNTOLD,
    Agent,
    Around,
    Copy,
    CopyName,
    CopyRow,
    File,
    Folder,
    Kept,
    Ledger,
    Listed,
    Number,
    Place,
    Records,
    Refused,
    Row,
    moving,
    name_of_row,
    sha256,
)
from busproof.oracle.models.relay_text import (
    EVERYBODY,
    FILE_NAME,
    FOLDERS,
    LEAD,
    ORCHESTRATOR,
    RELEASE,
    REQUESTS,
    SAYER,
    SPAWN,
    USUAL_PRIORITY,
    Message,
    has_twice,
    is_address,
    is_agent_name,
    parsed,
    request,
    subscriptions,
)
from busproof.oracle.models.spec import ANY_CODE, Cited, DoesNotApply, Fits, Model, plain

RATE_WINDOW_MS = 60_000
MS = 1_000_000  # nanoseconds
FOR_EVER_NS = 1 << 62
COUNTS = ("discovered", "completed", "failed", "retried")
FORM = tuple(f"relay.log.{n}" for n in (33, 34, 38, 40, 41, 42, 43, 44, 45))  # these make a file a message, or not
COLUMNS = tuple(f"relay.log.{n}" for n in (*range(19, 26), 27, 28, 29, 31, 32))  # of rows, each held by itself
CHECKSUM = "relay.log.46"
SILENT = tuple(f"relay.{row}" for row in ("cursor.14", "presence.06", "limit.04", "limit.12", "limit.13", "log.52"))
LOOKED_AT = ("relay.cursor.01", "relay.log.04", "relay.log.56")  # of a file that a pass leaves out, or makes up
STARTED = tuple(f"relay.presence.{n}" for n in (12, 14, 15, 16, 17, 19, 21))
IN_ORDER = ("relay.log.49", "relay.log.50", "relay.log.51", "relay.log.36")
_OF_PROCESSES = re.compile(r"^KIND:\s*(spawn|release)\b", re.MULTILINE)
SOME_TEXT = Fits("text", lambda value: type(value) is str)
SOME_FLAG = Fits("true or false", lambda value: type(value) is bool)


class Failure(Exception):
    """A message cannot be handled. It is tried again if it may still become possible."""

    def __init__(self, reason: str, *rows: str, may_come: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.rows, self.may_come = reason, rows, may_come


class RelayModel(Model):
    """One folder."""

    SYSTEM = "relay"
    WRITES, STORED = ("scan",), ("relay.log.02",)
    EVERYTHING = frozenset(CONTRACTS["relay"].features) | frozenset(CONTRACTS["relay"].profiles["full"])

    def __init__(self, features: frozenset[str], limits: dict[str, int], dialects: dict[str, str]) -> None:
        super().__init__(features, limits, dialects)
        self.folders: dict[str, Folder] = {}
        self.agents: dict[str, Agent] = {}
        self.rows: list[Row | CopyRow] = []
        self.by_path: dict[str, Row] = {}
        self.refused: list[Refused] = []
        self.known: dict[tuple[str, str], Any] = {}  # (event, path) → the thing that stood there
        self.limited: set[str] = set()  # agents whose files wait
        self.channels: set[tuple[str, str]] = set()  # (channel, agent)
        self.archive: dict[str, dict[str, dict[str, bytes]]] = {}  # date → agent → file
        self.attachments: dict[str, bytes | None] = {}  # hash → content, None if it is not a regular file
        self.config_file: dict[str, Any] = {}
        self.settings: dict[str, Any] = dict(DEFAULTS)
        self.opened_by: int | str | None = None
        self.monotonic_ms, self.clock_ms, self.pass_ms, self.last_pass_ms = 0, 0, 0, 0
        self.is_first_pass = True
        self.seen: dict[str, tuple[Any, int]] = {}  # path → its looks, and since when
        self.counts = dict.fromkeys(COUNTS, 0)
        self.why: dict[str, tuple[str, ...]] = {}  # path of a file, or agent → the branches that made it so
        self.handled: list[str] = []  # files, in the last pass
        self.doubtful: set[str] = set()  # pending files that the last pass found changed: their paths
        self.dead: set[str] = set()  # processes of agents that ended by themselves, by the names of their pids
        self.copies: dict[str, Ledger] = {}  # of the ledger, by path
        self.is_put_back = False  # one of them
        self.obstacles = 0  # that ever stood in an inbox's place
        self.is_name_unsure = False  # may a file have the name of a copy that nobody has seen?
        self.has_rest = False  # may there be a file that an earlier orchestrator handled and left?

    def fitted(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A bus that starts no processes is not asked to start or end any: the file is not written."""
        if "spawn" not in self.features and _OF_PROCESSES.search(str(params.get("data"))):  # on another bus
            raise DoesNotApply("a spawn or a release on a bus without spawn")
        return params

    def checked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Every call of an orchestrator lets it see the time."""
        if self.at == "hand" or method == "open":
            return params
        self.monotonic_ms += max(0, self.now_ms - self.clock_ms)
        self.clock_ms = self.now_ms
        if self.at != self.opened_by and method != "close":
            self.refuse("NOT_OPEN", "relay.lease.13")
        return params

    @contextlib.contextmanager
    def about(self, *subjects: str) -> Iterator[None]:
        """An error in the branches in here shows in these subjects."""
        outer, self._rows = self._rows, []
        try:
            yield
        finally:
            for subject in subjects:
                self.why[subject] = tuple(dict.fromkeys((*self.why.get(subject, ()), *self._rows)))
            self._rows = outer + self._rows

    def whys(self, subjects: Iterable[str]) -> tuple[str, ...]:
        """The branches of all of them."""
        return tuple(dict.fromkeys(row for subject in subjects for row in self.why.get(subject, ())))

    # -- the orchestrator's life

    def open(self, options: dict[str, Any]) -> dict[str, Any]:
        """Open the folder alone; take up again the messages that a predecessor held when it died."""
        if self.opened_by not in (None, self.at):
            self.refuse(
                self.choice("relay.lease.02", "LOCKED", "DB_BUSY", ANY_CODE), "relay.lease.01", "relay.lease.02"
            )
        with self.about(*self.agents, *self.by_path):
            self.row("relay.log.01", "relay.lease.11")
        self.opened_by = self.at
        self.settings = DEFAULTS | self.config_file | options
        self.monotonic_ms, self.clock_ms, self.pass_ms, self.seen = 0, self.now_ms, 0, {}
        self.doubtful, self.has_rest = set(), True
        if self.limited and self.choice("relay.limit.04: a restart", "is recorded again", "is not") != "is not":
            self.limited = set()
        self.bury()
        self.take_up_all()
        self.archive_the_rest("at its opening")
        return {}

    def bury(self) -> None:
        """Terminate agents whose process has ended."""
        for name, agent in self.agents.items():
            if agent.pid is not None and agent.pid.name in self.dead:
                with self.about(name):
                    self.row("relay.presence.31")
                    self.end(agent)

    def take_up_all(self) -> None:
        """Take up all messages that were in hand."""
        for row in self.rows:
            if isinstance(row, Row) and row.status == "processing":
                with self.about(row.path):
                    self.take_up(row)

    def backup(self, path: str) -> dict[str, Any]:
        """Copy the ledger, while it runs."""
        self.row("relay.export.08")
        self.copies[path] = Ledger(self.rows, self.agents, self.channels, self.refused, self.known).copied()
        return {}

    def restore(self, path: str) -> dict[str, Any]:
        """Put a copy in the ledger's place. Files stay as they are, and so do the processes that run."""
        self.row("relay.export.09")
        if path not in self.copies:  # a backup may be refused, on another bus
            self.refuse(ANY_CODE, "relay.export.08")
        running = [(name, agent) for name, agent in self.agents.items() if self.runs(agent)]
        put_back = self.copies[path].copied()
        self.keep_the_rest(put_back)
        self.rows, self.agents, self.channels = put_back.rows, put_back.agents, put_back.channels
        self.by_path = {row.path: row for row in self.rows if isinstance(row, Row)}
        if self.choice("the audit trail, after a restore", "is the copy's", "goes on") == "is the copy's":
            self.refused, self.known = put_back.refused, put_back.known
        for name, agent in running:
            with self.about(name):
                self.row("relay.presence.41", "relay.presence.42")
                known = self.agents.setdefault(name, Agent(self.now_ms))
                known.status, known.pid, known.said = "active", agent.pid, agent.said
        with self.about(*self.agents, *self.by_path):
            self.row("relay.export.09")
        self.bury()
        self.take_up_all()
        for name, folder in self.folders.items():
            self.row("relay.export.17")
            names = [row.name for row in self.rows if isinstance(row, CopyRow) and row.recipient == name][-1:]
            names += [copy.name for copy in folder.inbox[-1:]]
            folder.last_copy = max(names, key=lambda copy_name: plain(copy_name) or "", default=None)
        self.has_rest = self.is_put_back = True
        return {}

    def keep_the_rest(self, put_back: Ledger) -> None:
        """The seed has no table for subscriptions and saved states: another bus may keep them elsewhere."""
        if self.channels != put_back.channels:
            where = self.choice("subscriptions, after a restore", "are the copy's", "go on")
            if where == "go on":  # on another bus
                put_back.channels = self.channels
        for name, agent in put_back.agents.items():
            state = self.agents[name].state if name in self.agents else agent.state
            if state != agent.state:
                where = self.choice("saved states, after a restore", "are the copy's", "go on")
                if where == "go on":  # on another bus
                    agent.state = state

    def end(self, agent: Agent) -> None:
        """It is gone, and so is its process: a copy of the ledger from before does not bring that back."""
        if agent.pid is not None:
            self.dead.add(agent.pid.name)
        agent.status, agent.pid = "terminated", None

    def runs(self, agent: Agent) -> bool:
        """Does its process run?"""
        return agent.pid is not None and agent.pid.name not in self.dead

    def take_up(self, row: Row) -> None:
        """Take up a message that a dead orchestrator held."""
        there = self.folders[row.agent].outbox.get(row.file)
        if there is not None and (not there.odd or self.is_taken_for_a_file(there.odd)):
            self.row("relay.lease.05")
            row.status = "pending"
            if (
                row.tried_at is not None
                and self.choice("a claimed row's pause, at a start", "goes on", "ends") == "ends"
            ):
                row.tried_at = None
        else:
            self.row("relay.lease.06")
            self.fail(row, "file_disappeared")
            if self.choice("retry_count, lost at a start", "counts", "does not count") == "does not count":
                row.retry_count -= 1
            row.processed_at = SOME_NUMBER  # nobody has told the orchestrator the time yet

    def is_taken_for_a_file(self, odd: str) -> bool:
        """At a start, is a non-file under a file's name taken for the file, until the next pass looks at it?"""
        return self.choice(f"{odd} in a file's place, at a start", "the file is gone", "it is there") == "it is there"

    def close(self) -> dict[str, Any]:
        """Ends the agents that it started."""
        if self.at != self.opened_by:
            if self.choice("relay.lease.13: close", "does nothing", "is refused") == "is refused":
                self.refuse("NOT_OPEN", "relay.lease.13")
        else:
            self.row(*(["relay.presence.32"] if "spawn" in self.features else []))
            self.opened_by = None
            for agent in self.agents.values():
                if agent.pid is not None:
                    self.end(agent)
        return {}

    # -- one pass

    def scan(self) -> dict[str, Any]:
        """Look at everything, enter new files, handle due ones."""
        self.row("relay.cursor.01", "relay.cursor.15", "relay.log.49", "relay.log.04", "relay.log.56")
        self.counts, self.handled = dict.fromkeys(COUNTS, 0), []
        before = len(self.refused)
        if self.pass_ms == 0:
            self.row("relay.lease.11")
        if self.is_set_back():
            self.row("relay.log.52")
            self.record("clock_back", "")
            waits = [row for row in self.rows if isinstance(row, Row) and row.status == "pending" and row.tried_at]
            if waits and self.choice("what waits, once the clock went back", "as it did", "is due") == "is due":
                for row in waits:  # on another bus
                    row.tried_at = None
        self.is_first_pass, self.pass_ms, self.last_pass_ms = self.pass_ms == 0, self.now_ms, self.now_ms
        self.bury()
        self.look_at_agents()
        self.clean_up()
        self.archive_the_rest("in its first pass")
        pending = {path for path, row in self.by_path.items() if row.status == "pending"}
        doubtful, self.doubtful = self.doubtful & pending, set()
        new_rows = [ranked for name in sorted(self.agents) for ranked in self.found(name, doubtful)]
        self.row(*IN_ORDER)
        for _, row in sorted(new_rows, key=self.rank):
            self.enter(row)
        for row in [row for row in self.rows if isinstance(row, Row) and self.is_due(row)]:
            self.handled.append(row.path)
            with self.about(row.path):
                self.process(row)
        # Which file a number is about is seen in the ledger, where the stage looks, too.
        rows = (*LOOKED_AT, "relay.cursor.15", *self.whys(self.handled))
        refused = tuple(EVENT_ROWS[record.event] for record in self.refused[before:])
        return {name: Cited(count, rows) for name, count in self.counts.items()} | {
            "refused": Cited(len(self.refused) - before, (*refused, "relay.limit.16"))
        }

    def is_set_back(self) -> bool:
        """Has the clock gone back since the last pass? Only another bus knows of another orchestrator's pass."""
        if self.pass_ms == 0 and self.now_ms < self.last_pass_ms:
            who = self.choice("relay.log.52: between two orchestrators", "is not noticed", "is noticed")
            return who == "is noticed"
        return self.now_ms < self.pass_ms

    def rank(self, ranked: tuple[int, Row]) -> tuple[int, str, str]:
        """By priority; equal ones by name."""
        priority, row = ranked
        if self.choice("relay.log.51", "file name, agent", "agent, file name") == "file name, agent":
            return priority, row.file, row.agent
        return priority, row.agent, row.file

    def look_at_agents(self) -> None:
        """New folders are new agents; an agent that was silent for long is inactive."""
        known = set(self.agents)
        for name, folder in sorted(self.folders.items()):
            with self.about(name):
                self.look_at_folder(name, folder)
        for name, agent in self.agents.items():
            with self.about(name):
                self.look_at_silence(agent, is_new=name not in known)

    def look_at_folder(self, name: str, folder: Folder) -> None:
        """Take the folder for an agent's, if an agent may have its name."""
        if folder.odd:
            self.row("relay.limit.10")
            self.refuse_file(folder.odd, f"agents/{name}", name)
        elif not is_agent_name(name):
            self.row("relay.presence.01", "relay.presence.02", "relay.presence.03")
            self.refuse_file("bad_agent_name", f"agents/{name}", name)
        else:
            if self.is_another_spelling(name):  # on another bus
                return
            if name not in self.agents:
                self.row("relay.presence.04", "relay.presence.05", "relay.presence.07", "relay.presence.08")
                self.row("relay.presence.01", "relay.presence.02", "relay.presence.03")
                self.agents[name] = Agent(self.now_ms, self.choice("relay.presence.04", "active", "inactive"))
                if folder.blocked:
                    self.refuse_inbox(name, folder)
            folder.is_whole |= self.choice("relay.presence.05", "made", "not made") == "made"

    def is_another_spelling(self, name: str) -> bool:
        """Does the same name exist in another letter case? On another bus the last of them is the agent."""
        if not any(other > name and other.lower() == name.lower() for other in self.folders):
            return False
        return self.choice("relay.presence.07", "is another agent", "is the same agent") == "is the same agent"

    def look_at_silence(self, agent: Agent, *, is_new: bool) -> None:
        """After a long silence, it is inactive; one of no time at all is over in the next pass."""
        since = agent.registered_at if agent.last_seen_at is None else agent.last_seen_at
        is_silent = self.has_come(self.now_ms - since, self.settings["agent_timeout_ms"], "relay.presence.11")
        if agent.status == "active" and agent.pid is None and is_silent:
            if is_new and self.choice("relay.presence.11: a new agent", "the next pass", "at once") == "the next pass":
                return
            self.row("relay.presence.10", "relay.presence.11")
            agent.status = "inactive"

    def has_come(self, age: int, limit: int, choice: str) -> bool:
        """Is it old enough? At exactly that age it is; another bus may say after it."""
        if age == limit:
            return self.choice(choice, "at", "after") == "at"
        return age > limit

    def clean_up(self) -> None:
        """Half files that nobody will finish, and old days of the archive."""
        for name in sorted(self.agents):
            pending = self.folders[name].pending
            for file, half in sorted(pending.items()):
                path = f"agents/{name}/outbox/.pending/{file}"
                with self.about(path):
                    if self.is_orphan(path, half):
                        del pending[file]
                        self.record("orphan_removed", path)
        self.row("relay.export.05", "relay.export.06")
        days = self.settings["retention_days"]
        for day in self.archive.keys() - {UNTOLD}:
            age_days = (self.today() - date.fromisoformat(day)).days
            if age_days > days or (
                age_days == days and self.choice("relay.export.06", "stays at that age", "goes") == "goes"
            ):
                del self.archive[day]

    def is_orphan(self, path: str, file: File) -> bool:
        """A half file that nobody will finish."""
        if file.odd in ("symlink", "not_regular"):
            self.row("relay.cursor.26", "relay.limit.09")
            if self.choice("an odd object in .pending", "is passed over", "is recorded") == "is recorded":
                self.refuse_file(file.odd, path, file.looks)
            return False
        age_ns, most_ns = self.age_ns(path, file), self.settings["orphan_ms"] * MS
        if age_ns > most_ns or (
            age_ns == most_ns and self.choice("relay.cursor.05: orphan", "after that age", "at") == "at"
        ):
            self.row("relay.cursor.25", "relay.cursor.05")
            return True
        self.row("relay.cursor.26", "relay.log.06")
        return False

    def age_ns(self, path: str, file: File) -> int:
        """How long a file has been unchanged: by its time, or, if that lies ahead, since it was first seen so (R9)."""
        looks, since_ms = self.seen.get(path, (None, 0))
        if looks != file.looks:
            since_ms = -FOR_EVER_NS // MS if self.is_taken_for_settled(file) else self.monotonic_ms
            self.seen[path] = file.looks, since_ms
        if file.mtime_ns <= self.now_ms * MS:
            return self.now_ms * MS - file.mtime_ns
        self.row("relay.cursor.18", "relay.cursor.19", "relay.cursor.20")
        if self.choice("relay.cursor.18", "ages while it is seen", "has settled") == "has settled":
            return FOR_EVER_NS
        return (self.monotonic_ms - since_ms) * MS

    def is_taken_for_settled(self, file: File) -> bool:
        """A file with a time in the future that an orchestrator finds at its start, where another was before it."""
        is_found = self.is_first_pass and bool(self.rows) and file.mtime_ns > self.now_ms * MS
        return is_found and self.choice("relay.cursor.20", "settles again", "has settled") == "has settled"

    def refuse_file(self, event: str, path: str, what: Any) -> None:
        """Record it once, as long as the same thing stands there."""
        self.row("relay.limit.14", "relay.limit.16", EVENT_ROWS[event])
        if self.is_known(event, path, what) and self.choice("relay.limit.14", "once", "in every pass") == "once":
            return
        self.known[event, path] = what
        self.record(event, path)

    def is_known(self, event: str, path: str, what: Any) -> bool:
        """Was this very thing refused there before? A file that was only made longer or shorter may count as it."""
        last = self.known.get((event, path))
        if isinstance(last, tuple) and last != what and last[1:] == what[1:]:
            return self.choice("relay.limit.14: of another size alone", "is known", "is another") == "is known"
        return bool(last == what)

    def record(self, event: str, path: str) -> None:
        """Record it in the audit log; another bus may omit an event that the seed does not ask for."""
        row = EVENT_ROWS[event]
        if row in SILENT and self.choice(f"{row}: {event}", "is recorded", "is not recorded") == "is not recorded":
            return
        self.refused.append(Refused(self.now_ms, event, path))

    def odd(self, file: File) -> str:
        """The reason that a file may not be opened, if there is one."""
        if file.odd == "hard_link" and self.choice("relay.limit.12", "is refused", "is taken") == "is taken":
            return ""
        return file.odd

    # -- found files

    def found(self, name: str, doubtful: set[str]) -> list[tuple[int, Row]]:
        """Rows for an agent's new files, with their priority, as many as its rate allows."""
        new_rows: list[tuple[int, Row]] = []
        recent = sum(
            self.now_ms - RATE_WINDOW_MS < row.discovered_at <= self.now_ms
            for row in self.rows
            if isinstance(row, Row) and row.agent == name
        )
        room, waits = max(0, self.settings["rate_per_min"] - recent), False
        for file in sorted(self.folders[name].outbox):
            with self.about(f"agents/{name}/outbox/{file}"):
                if not self.is_candidate(name, file, doubtful):
                    continue
                self.row("relay.limit.03", "relay.limit.04", "relay.limit.05")
                if len(new_rows) < room or self.takes_turns() != "every new file":
                    ranked = self.judged(name, file)
                    new_rows += [ranked] if ranked is not None else []
                else:
                    waits = True
        if len(new_rows) > room:  # on another bus
            if self.takes_turns() == "what is ready, by priority":  # on another bus
                new_rows.sort(key=lambda pair: pair[0])
            new_rows, waits = new_rows[:room], True
        if waits and name not in self.limited:
            self.record("rate_limited", f"agents/{name}")
        self.limited = self.limited | {name} if waits else self.limited - {name}
        return new_rows

    def takes_turns(self) -> str:
        """Which files wait, if there are more than the rate allows."""
        return self.choice(
            "relay.limit.04: waits", "every new file", "what is ready, by name", "what is ready, by priority"
        )

    def is_candidate(self, name: str, file: str, doubtful: set[str]) -> bool:
        """Is it a new file that may be a message? Refuses odd files, and reads changed ones again."""
        held, path = self.folders[name].outbox[file], f"agents/{name}/outbox/{file}"
        if not file.endswith(".msg"):
            self.row("relay.log.48")
            return False
        if odd := self.odd(held):
            self.refuse_file(odd, path, held.looks)
            return False
        if not FILE_NAME.fullmatch(file):
            self.row("relay.log.47")
            self.refuse_file("bad_file_name", path, held.looks)
            return False
        self.age_ns(path, held)
        known = self.by_path.get(path)
        if known is None:
            return not self.is_name_of_a_copy(name, file, held)
        if self.is_as_known(known, held) and path not in doubtful and not self.is_forbidden(known):
            self.row("relay.cursor.02")
        elif known.status != "pending":
            if self.has_settled(path, held) or self.choice("relay.cursor.14: young", "at once", "waits") == "at once":
                self.refuse_file("name_reused", path, held.looks)
        elif (ranked := self.judged(name, file)) is not None:
            self.read_again(known, ranked[1])
        return False

    def is_name_of_a_copy(self, agent: str, file: str, held: File) -> bool:
        """Is it the name of a file that was delivered to this agent, and refused for that?"""
        if not any(isinstance(row, CopyRow) and (row.recipient, plain(row.name)) == (agent, file) for row in self.rows):
            return False
        how = self.choice("relay.cursor.14: a name of the inbox", "is used", "is free")
        if how == "is used":  # or not, on another bus
            self.refuse_file("name_reused", f"agents/{agent}/outbox/{file}", held.looks)
        return how == "is used"

    def is_as_known(self, known: Row, file: File) -> bool:
        """The same size and time; on another bus the same inode, too."""
        if (known.size, known.mtime_ns) != (len(file.data), file.mtime_ns):
            return False
        if known.inode.name == file.inode.name:
            return True
        return self.choice("relay.log.24: another inode", "the same file", "another file") == "the same file"

    def has_settled(self, path: str, file: File) -> bool:
        """Is it old enough to be read?"""
        return self.has_come(self.age_ns(path, file), self.settings["settle_ms"] * MS, "relay.cursor.05: settled")

    def is_forbidden(self, known: Row) -> bool:
        """A pending file that a later limit forbids fails when it is due; on another bus, as soon as it is seen."""
        if known.status != "pending" or not self.is_too_large(known):
            return False
        return (
            self.choice("a pending file, and a later limit", "when it is due", "when it is seen") == "when it is seen"
        )

    def judged(self, name: str, file: str) -> tuple[int, Row] | None:
        """The row of a file at this age; nothing while it may still be written."""
        held = self.folders[name].outbox[file]
        age_ns = self.age_ns(f"agents/{name}/outbox/{file}", held)
        if file in self.folders[name].pending:
            self.row("relay.cursor.06")
            return None
        if not self.has_settled(f"agents/{name}/outbox/{file}", held):
            self.row("relay.cursor.04", "relay.cursor.05")
            return None
        row = Row(
            name, file, len(held.data), held.mtime_ns, held.inode, None, "failed", None, None, self.now_ms, self.now_ms
        )
        if self.is_too_large(row):
            self.row("relay.limit.01", "relay.limit.02")
            row.last_error = "too_large"
            return USUAL_PRIORITY, row
        message = parsed(held.data, self.choice)
        if message is not None and self.is_whole(message, held.data):
            self.row(*FORM)
            self.row("relay.cursor.10", "relay.cursor.05", "relay.limit.02", "relay.log.46")
            row.status, row.processed_at, row.checksum = "pending", None, sha256(held.data)
            row.kind, row.target = message.kind, message.to
            return message.priority, row
        if not self.has_come(age_ns, self.settings["malformed_ms"] * MS, "relay.cursor.05: malformed"):
            self.row("relay.cursor.07" if held.data else "relay.cursor.03", "relay.cursor.05", *FORM, "relay.log.37")
            return None
        row.checksum = sha256(held.data)
        if not held.data:
            self.row("relay.cursor.16")
            row.last_error = self.choice("relay.cursor.16", "empty", "malformed")
        elif message is None:
            self.row("relay.cursor.08", "relay.cursor.17", "relay.route.16", *FORM)
            row.last_error = "malformed"
        else:
            self.row("relay.log.37", "relay.log.46")
            row.last_error = "checksum_mismatch"
            if self.choice("KIND and TO of checksum_mismatch", "NULL", "as in its headers") == "as in its headers":
                row.kind, row.target = message.kind, message.to
        return USUAL_PRIORITY, row

    def is_whole(self, message: Message, data: bytes) -> bool:
        """Is CHECKSUM the hash of the body? On another bus, of the file."""
        if message.is_whole:
            return (
                "CHECKSUM" not in message.headers
                or self.choice(CHECKSUM, "of the body", "of the file") == "of the body"
            )
        return self.choice(CHECKSUM, "of the body", "of the file") == "of the file" and message.is_of(data)

    def is_too_large(self, row: Row) -> bool:
        """A file of exactly the limit is a message; another bus may say otherwise."""
        most = int(self.settings["message_bytes_max"])
        if row.size == most:
            return self.choice("relay.limit.02", "a message", "too large") == "too large"
        return row.size > most

    def read_again(self, known: Row, now: Row) -> None:
        """A pending file that changed: its row follows (R3)."""
        self.row("relay.cursor.11", "relay.cursor.12", "relay.cursor.13")
        known.size, known.mtime_ns, known.inode, known.checksum = now.size, now.mtime_ns, now.inode, now.checksum
        known.kind, known.target = now.kind, now.target
        if known.tried_at is not None and self.choice("relay.cursor.13: its pause", "ends", "goes on") == "ends":
            known.tried_at = known.processed_at = None
        if now.status == "failed":
            known.status, known.last_error, known.processed_at = "failed", now.last_error, self.now_ms
            known.retry_count += self.choice("retry_count, in the look", "does not count", "counts") == "counts"
            self.counts["failed"] += 1
            self.put_away(known)

    def enter(self, row: Row) -> None:
        """Enter the row in the ledger."""
        self.rows.append(row)
        self.by_path[row.path] = row
        self.counts["discovered"] += 1
        agent = self.agents[row.agent]
        with self.about(row.agent, row.path):
            self.row("relay.presence.09")
            agent.last_seen_at = self.now_ms
            if agent.status == "inactive":
                self.row("relay.presence.11")
                agent.status = "active"
            if row.status == "failed":
                self.counts["failed"] += 1
                self.put_away(row)

    # -- handled files

    def is_due(self, row: Row) -> bool:
        """Is it to be tried now?"""
        if row.status == "processing":
            self.row("relay.lease.04")
        if row.status != "pending" or row.tried_at is None:
            return row.status == "pending"
        with self.about(row.path):
            self.row("relay.retry.04", "relay.retry.05")
        if self.now_ms < row.tried_at:
            when = self.choice("relay.retry.05: after the clock went back", "at once", "when it has caught up")
            return when == "at once"
        pause_ms = int(self.settings["retry_ms"]) * 2 ** (row.retry_count - 1)
        return self.has_come(self.now_ms - row.tried_at, pause_ms, "relay.retry.05")

    def process(self, row: Row) -> None:
        """Claim it, carry it out, keep its file."""
        self.row("relay.cursor.15", "relay.log.56", "relay.retry.08")
        file = self.folders[row.agent].outbox.get(row.file)
        if file is None or self.odd(file):
            self.row("relay.lease.09")
            self.give_up(row, Failure("file_disappeared"))
            return
        if not self.is_as_known(row, file) or sha256(file.data) != row.checksum:
            self.row("relay.cursor.13")
            self.doubtful.add(row.path)
            return
        try:
            if self.is_too_large(row):  # it arrived under an orchestrator that took more (R4)
                raise Failure("too_large", "relay.limit.01", "relay.limit.02", "relay.retry.02")
            message = parsed(file.data, self.choice)
            assert message is not None
            self.handle(row, message, file.data)
        except Failure as failure:
            if self.give_up(row, failure):
                self.put_away(row)
        else:
            self.row("relay.log.30", *(["relay.retry.06"] if row.retry_count else []))
            row.status, row.processed_at = "completed", self.now_ms
            if row.last_error and self.choice("relay.retry.10: after success", "stays", "goes") == "goes":
                row.last_error = None
            self.counts["completed"] += 1
            self.put_away(row)

    def give_up(self, row: Row, failure: Failure) -> bool:
        """Give it up for good, or for now."""
        self.row("relay.retry.01", "relay.retry.08", "relay.retry.09", *failure.rows)
        may_come = self.may_come(failure)
        if may_come and row.retry_count < self.settings["retries_max"]:
            self.row("relay.retry.03", "relay.retry.10")
            row.retry_count, row.tried_at = row.retry_count + 1, self.now_ms
            is_told = self.choice("processed_at after a failed attempt", "is told", "is not told") == "is told"
            row.processed_at = self.now_ms if is_told else None
            when = self.choice("relay.retry.10", "after each attempt", "when it is final")
            row.last_error = failure.reason if when == "after each attempt" else None
            self.counts["retried"] += 1
            return False
        self.row("relay.retry.02" if may_come else "relay.retry.07")
        self.fail(row, failure.reason)
        return True

    def may_come(self, failure: Failure) -> bool:
        """Is it worth another try?"""
        if failure.may_come:
            row = "relay.route.09" if failure.reason == "no_lead" else "relay.retry.03"
            return self.choice(row, "is tried again", "is final") == "is tried again"
        row = "relay.lease.09" if failure.reason == "file_disappeared" else "relay.retry.07"
        return self.choice(f"{row}: {failure.reason}", "is final", "is tried again") == "is tried again"

    def fail(self, row: Row, reason: str) -> None:
        """For good."""
        row.status, row.last_error, row.processed_at = "failed", reason, self.now_ms
        row.retry_count += 1
        self.counts["failed"] += 1

    def put_away(self, row: Row, day: str = "") -> None:
        """Move its file to the archive, under today or the given day."""
        if not self.settings["archive"]:
            self.row("relay.export.04")
            return
        with self.about(moving(row.path)):
            self.move(row, day)

    def move(self, row: Row, day: str) -> None:
        """Move the file of a handled message."""
        self.row("relay.log.07", "relay.export.03")
        if row.status == "completed":
            self.row("relay.export.01")
            row.status = "archived"
        else:
            self.row("relay.export.02")
            if self.choice(f"relay.export.02: {row.last_error}", "is moved", "stays") == "stays":
                return
        of = self.choice("relay.export.03", "of processing", "of discovery")
        today = self.today() if of == "of processing" else self.today(row.discovered_at)
        files = self.archive.setdefault(day or today.isoformat(), {}).setdefault(row.agent, {})
        names = (row.file, *(f"{row.file}.{number}" for number in range(1, len(files) + 1)))  # one may be forgotten
        files[next(name for name in names if name not in files)] = self.folders[row.agent].outbox.pop(row.file).data

    def archive_the_rest(self, when: str) -> None:
        """Files handled while the archive was off go there as soon as it is on and the day is known."""
        if not (self.settings["archive"] and self.has_rest):
            return
        rest = [row for row in self.rows if isinstance(row, Row) and (row.status == "completed" or self.is_left(row))]
        self.has_rest = when == "at its opening"  # a later pass looks no more: a file is then known and not taken again
        if not rest or when != self.choice(
            "relay.export.04: what was left", "in its first pass", "at its opening", "stays for ever"
        ):
            return
        for row in rest:
            with self.about(row.path):
                self.row("relay.export.04")
                if self.is_left(row):
                    self.put_away(row, UNTOLD if when == "at its opening" else "")
                elif self.choice("relay.export.04: what was left and is gone", "is archived", "stays") == "is archived":
                    row.status = "archived"  # an orchestrator killed between the two has not said so

    def is_left(self, row: Row) -> bool:
        """Was it handled, and is its file where it was?"""
        file = self.folders[row.agent].outbox.get(row.file)
        if row.status not in ("completed", "failed") or file is None or self.odd(file):
            return False
        return self.is_as_known(row, file)

    def today(self, now_ms: int | None = None) -> date:
        """In UTC."""
        return datetime.fromtimestamp((self.now_ms if now_ms is None else now_ms) / 1000, UTC).date()

    def handle(self, row: Row, message: Message, data: bytes) -> None:
        """Do as a message asks; raises Failure."""
        self.refuse_faulty(message)
        if message.to == ORCHESTRATOR:
            self.row("relay.route.10")
            self.answer(row, message)
            return
        recipients = list(self.recipients(row.agent, message.to))
        self.row("relay.log.05", "relay.log.35", "relay.log.39", "relay.route.14", "relay.route.15", "relay.route.16")
        if not recipients and self.choice("relay.route.07", "completes", "fails") == "fails":
            raise Failure("unknown_agent", "relay.route.07")
        head = f"FROM: {row.agent}\nID: {self.id_of(row)}\n".encode()
        if self.choice("relay.route.15", "below FROM and ID", "as it is") == "as it is":
            head = b""
        for name in recipients:
            self.deliver(row.path, name, head + data, message.kind, message.to)

    def refuse_faulty(self, message: Message) -> None:
        """Refuse a message that is wrong by itself."""
        self.refuse_any(
            lambda: self.look_at_address(message),
            lambda: self.look_at_kind(message),
            lambda: self.look_at_attachment(message),
        )

    def refuse_any(self, *looks: Callable[[], None]) -> None:
        """Refuse where one of them does. A bus may tell any of several reasons: no sentence orders them."""
        failures = list[Failure]()
        for look in looks:
            try:
                look()
            except Failure as failure:
                failures.append(failure)
        if not failures:
            return
        reason = failures[0].reason
        if len(failures) > 1:
            reasons = [failure.reason for failure in failures]
            reason = self.choice(f"which reason is told: {' or '.join(reasons)}", *reasons)
        raise next(failure for failure in failures if failure.reason == reason)

    def look_at_address(self, message: Message) -> None:
        """It must be an address."""
        if is_address(message.to):
            return
        if self.choice("relay.route.13", "bad_address", "unknown_agent") == "unknown_agent":
            raise Failure("unknown_agent", "relay.route.13", may_come=True)
        raise Failure("bad_address", "relay.route.13")

    def look_at_kind(self, message: Message) -> None:
        """A request that only the orchestrator answers is sent to it."""
        if message.kind in REQUESTS and message.to != ORCHESTRATOR:
            self.row("relay.route.12")
            if self.choice("relay.route.12", "misdirected", "a message") == "misdirected":
                raise Failure("misdirected")

    def recipients(self, sender: str, to: str) -> Iterator[str]:
        """Its recipients, by name."""
        if to == EVERYBODY:
            self.row("relay.route.02", "relay.route.03", "relay.route.07")
            yield from sorted(self.others(sender, to, self.agents))
        elif to.startswith("#"):
            self.row("relay.route.03", "relay.route.04", "relay.route.05", "relay.route.07")
            subscribers = {agent for channel, agent in self.channels if channel == to}
            yield from sorted(self.others(sender, "#", subscribers))
        elif to == LEAD:
            lead: str = self.settings.get("lead", "")
            if not self.is_there(lead):
                raise Failure("no_lead", "relay.route.09", may_come=True)
            self.row("relay.route.08")
            yield lead
        elif not self.is_there(to) and not self.reaches_the_terminated(to):
            raise Failure("unknown_agent", "relay.retry.03", may_come=True)
        else:
            self.row("relay.route.01", "relay.route.21")
            yield to

    def others(self, sender: str, to: str, names: Iterable[str]) -> Iterator[str]:
        """Those of them that are there to hear it; on another bus a sender hears itself."""
        for name in names:
            if not self.hears(name, to):
                continue
            if name != sender or self.choice(f"relay.route.03: {to}", "without the sender", "with") == "with":
                yield name

    def hears(self, name: str, to: str) -> bool:
        """A broadcast is for active agents, a channel for all subscribers; neither reaches an agent that has ended."""
        return self.agents[name].status in (("active", "inactive") if to == "#" else ("active",))

    def reaches_the_terminated(self, name: str, what: str = "a message", *, reaches: bool = False) -> bool:
        """Is something delivered to an agent that has ended? The reference delivers only answers to its requests."""
        if name not in self.agents:
            return False
        self.row("relay.presence.30")
        options = ("is delivered", "is not delivered") if reaches else ("is not delivered", "is delivered")
        return self.choice(f"relay.presence.30: {what}", *options) == "is delivered"

    def is_there(self, name: Any) -> bool:
        """Is it an agent to whom something can be delivered?"""
        return name in self.agents and self.agents[name].status != "terminated"

    def deliver(self, source: str, name: str, data: bytes, kind: str, target: str) -> None:
        """A new file in an inbox, and a row of its own."""
        self.row("relay.route.17", "relay.route.18", "relay.route.19", "relay.route.23", "relay.limit.08")
        folder = self.folders[name]
        is_lost = bool(folder.blocked)
        copy = Copy(self.born(CopyName, "copy", folder.last_copy), data, self.born(Number, "inode"), source)
        folder.last_copy, folder.is_inbox_gone = copy.name, False
        self.is_name_unsure |= any(copy.name.fits(file) for file in folder.outbox)
        if is_lost:
            self.row("relay.route.22")
            self.refuse_inbox(name, folder)
        else:
            folder.inbox.append(copy)  # an inbox that is gone is made for it
        if self.choice("relay.route.19", "has a row", "has no row") == "has a row":
            self.rows.append(CopyRow(name, copy.name, data, copy.inode, kind, target, self.now_ms, source, is_lost))

    def refuse_inbox(self, name: str, folder: Folder) -> None:
        """Record the thing that stands in an inbox's place; no sentence asks for it."""
        if self.choice("what stands in an inbox's place", "is recorded", "is not recorded") == "is recorded":
            self.refuse_file(folder.blocked, f"agents/{name}/inbox", folder.blocked_since)

    def look_at_attachment(self, message: Message) -> None:
        """It must be there, and its content must match its name."""
        wanted = message.attachment
        if wanted is None:
            return
        self.row("relay.blob.01", "relay.blob.02", "relay.blob.05")
        if wanted not in self.attachments:
            reason = self.choice("relay.blob.04", "attachment_missing", "attachment_corrupt")
            raise Failure(reason, "relay.blob.04")
        content = self.attachments[wanted]
        if content is None or sha256(content) != wanted:
            raise Failure("attachment_corrupt", "relay.blob.03", "relay.blob.04")

    # -- requests to the orchestrator itself

    def answer(self, row: Row, message: Message) -> None:
        """Answer requests; only record all else."""
        match message.kind:
            case "spawn":
                self.spawn(message)
            case "release":
                self.release(message)
            case "continuity":
                self.continuity(row, message.body)
            case "status":
                self.subscribe(row.agent, message.body)
            case _:
                self.row("relay.route.11")

    def subscribe(self, agent: str, body: str) -> None:
        """Change the sender's channels."""
        self.row("relay.route.05", "relay.route.11")
        changes = subscriptions(body)
        if changes is None:
            self.row("relay.route.06")
            if self.choice("relay.route.06", "bad_request", "is passed over") == "bad_request":
                raise Failure("bad_request")
            changes = subscriptions(body, is_strict=False) or (set(), set())
        added, removed = changes
        self.channels |= {(channel, agent) for channel in added}
        left = {(channel, agent) for channel in removed} & self.channels
        if left and self.choice("relay.route.05", "one can unsubscribe", "one cannot") == "one can unsubscribe":
            self.channels -= left

    def continuity(self, row: Row, body: str) -> None:
        """Keep the sender's state, or bring it."""
        action, _, state = body.partition("\n")
        self.row("relay.presence.33", "relay.presence.34")
        if action not in ("ACTION: save", "ACTION: load"):
            self.row("relay.presence.35")
            given = "another action" if action.startswith("ACTION: ") else "no action"
            action = self.choice(f"relay.presence.35: {given}", "bad_request", "ACTION: load", "is passed over")
            if action == "bad_request":  # or a load, on another bus
                raise Failure("bad_request")
        if action == "ACTION: save":
            what = self.choice("relay.presence.34", "below ACTION", "the whole body")
            self.agents[row.agent].state = state if what == "below ACTION" else body
        elif action == "ACTION: load":  # or nothing, on another bus
            has_ended = not self.is_there(row.agent)
            if has_ended and not self.reaches_the_terminated(row.agent, "a load", reaches=True):  # on another bus
                return
            whose = self.choice("the ID of the answer to a load", "the request's", "the orchestrator's")
            id_ = self.id_of(row) if whose == "the request's" else f"{ORCHESTRATOR}/{row.file.removesuffix('.msg')}"
            head = f"FROM: {ORCHESTRATOR}\nID: {id_}\nTO: {row.agent}\nKIND: continuity\n\n"
            self.deliver(row.path, row.agent, (head + self.agents[row.agent].state).encode(), "continuity", row.agent)

    def spawn(self, message: Message) -> None:
        """Start an agent, if all that it needs is allowed (R5)."""
        fields = self.fields(message, SPAWN, "PROMPT")
        name, cli, pairs = fields.get("NAME", ""), fields.get("CLI"), fields.get("ENV", "")
        variables = [pair.partition("=") for pair in pairs.split(",")] if pairs else []
        self.refuse_any(
            lambda: self.look_at_form(name, cli, variables),
            lambda: self.look_at_permission(cli, fields.get("WORKING_DIR"), variables),
            lambda: self.look_at_presence(name),
            lambda: self.look_at_inbox(name),
        )
        self.row("relay.presence.12", "relay.presence.14", "relay.presence.18")
        agent = self.agents.setdefault(name, Agent(self.now_ms))
        held = {(channel, reader) for channel, reader in self.channels if reader == name}
        if held and self.choice("subscriptions, after a spawn", "go on", "have ended") == "have ended":
            self.channels -= held  # on another bus
        agent.status, agent.pid = "active", self.born(Number, "pid")
        values = {name: value for name, _, value in variables}
        agent.said = None
        if tuple(self.settings["clis"][str(cli)]) == SAYER:
            agent.said = {
                "name": name,
                "root": True,
                "folder": normpath(fields["WORKING_DIR"]) if "WORKING_DIR" in fields else None,
                "env": [values.get("COLOUR", "no"), values.get("SIZE", "no")],
                "args": [fields["PROMPT"]] if fields.get("PROMPT") else [],
            }
        self.folders.setdefault(name, Folder()).is_whole = True

    def look_at_form(self, name: str, cli: str | None, variables: list[tuple[str, str, str]]) -> None:
        """Has it all that it needs?"""
        if not is_agent_name(name):
            raise Failure(
                self.choice("relay.presence.25", "bad_request", "denied"), "relay.presence.13", "relay.presence.25"
            )
        if not cli or not all(sign for _, sign, _ in variables):
            raise Failure("bad_request", "relay.presence.13", "relay.presence.25")

    def look_at_permission(self, cli: str | None, folder: str | None, variables: list[tuple[str, str, str]]) -> None:
        """Does config.json allow it?"""
        if cli is not None and cli not in self.settings.get("clis", {}):
            raise Failure("denied", "relay.presence.20")
        if folder is not None and not self.is_allowed(folder):
            raise Failure("denied", "relay.presence.22")
        if not {key for key, sign, _ in variables if sign} <= set(self.settings.get("env", [])):
            raise Failure("denied", "relay.presence.23")

    def look_at_presence(self, name: str) -> None:
        """Is there an agent of this name?"""
        if self.is_there(name) or self.has_its_spelling_taken(name):
            self.row("relay.presence.24")
            if self.choice("relay.presence.24", "agent_exists", "is started again") == "agent_exists":
                raise Failure("agent_exists")

    def has_its_spelling_taken(self, name: str) -> bool:
        """Does the same name exist in another letter case? On another bus that is the same agent."""
        if not any(other != name and other.lower() == name.lower() and self.is_there(other) for other in self.agents):
            return False
        return self.choice("relay.presence.07", "is another agent", "is the same agent") == "is the same agent"

    def look_at_inbox(self, name: str) -> None:
        """Can it have one? No sentence says how a spawn ends otherwise."""
        is_blocked = name in self.folders and bool(self.folders[name].blocked)
        if is_blocked and self.choice("a spawn where an inbox takes nothing", "spawn_failed", "done") == "spawn_failed":
            raise Failure("spawn_failed")

    def is_allowed(self, folder: str) -> bool:
        """Does it lie in one of the roots? Links aside: a scenario looks at those."""
        folder = normpath(folder)
        return folder in FOLDERS and any(f"{folder}/".startswith(f"{root}/") for root in self.settings.get("roots", []))

    def fields(self, message: Message, keys: tuple[str, ...], long: str) -> dict[str, str]:
        """The fields of a request; none if it is a bad one. No sentence covers a key that comes twice."""
        twice = "bad_request"
        if has_twice(message.body, keys):
            twice = self.choice("a key twice in a request", "bad_request", "the first counts", "the last counts")
        return request(message, keys, long, twice) or {}

    def release(self, message: Message) -> None:
        """End an agent."""
        name = self.fields(message, RELEASE, "REASON").get("NAME", "")
        if not is_agent_name(name):
            raise Failure(
                self.choice("relay.presence.25", "bad_request", "denied"), "relay.presence.25", "relay.presence.27"
            )
        if not self.is_there(name):
            waits = self.choice("relay.presence.29", "fails at once", "is tried again") == "is tried again"
            raise Failure("unknown_agent", "relay.presence.29", may_come=waits)
        self.row("relay.presence.26", "relay.presence.28")
        self.end(self.agents[name])

    # -- looking

    def status(self) -> dict[str, Any]:
        """The number of messages in each state, and the agents."""
        self.row("relay.export.12", "relay.log.26")
        states = [row.status for row in self.rows]
        counts = {name: states.count(name) for name in ("pending", "processing", "completed", "failed", "archived")}
        agents = [(name, {"name": name, "status": agent.status}) for name, agent in sorted(self.agents.items())]
        return counts | {"agents": Listed(agents, self.rows_of_agent)}

    def rows_of_agent(self, name: str) -> tuple[str, ...]:
        """The sentences that decide an agent's state."""
        return ("relay.presence.04", "relay.presence.07", *self.why.get(name, ()))

    def audit(self) -> dict[str, Any]:
        """The refusals."""
        self.row("relay.limit.16")
        return {"records": Records(tuple(self.refused), self.why)}

    def metrics(self) -> dict[str, Any]:
        """Numbers for an operator; a scenario looks at them."""
        return {"text": SOME_TEXT}

    def wants_look(self) -> str | None:
        """A file under the name of a copy is no message, and only the ledger and the inbox tell the names of copies."""
        return "ledger" if self.is_name_unsure else None

    def dump(self) -> dict[str, Any]:
        """The ledger."""
        self.row(*COLUMNS)
        self.is_name_unsure = False
        agents = [
            (
                name,
                {
                    "name": name,
                    "registered_at": Cited(who.registered_at, ("relay.presence.08", *self.rows_of_agent(name))),
                    "last_seen_at": Cited(who.last_seen_at, ("relay.presence.09", *self.rows_of_agent(name))),
                    "pid": who.pid,
                    "status": Cited(who.status, ("relay.presence.10", "relay.presence.26", *self.rows_of_agent(name))),
                },
            )
            for name, who in sorted(self.agents.items())
        ]
        anyhow = self.told_anyhow() if self.rows else {}
        rows = [
            (row.name_in_ledger, row.told(self.why.get(row.source, ()), self.id_of(row)) | anyhow.get(type(row), {}))
            for row in self.rows
        ]
        return {
            "messages": Listed(rows, self.rows_of_row, name_of_row, IN_ORDER),
            "agents": Listed(agents, self.rows_of_agent),
        }

    def told_anyhow(self) -> dict[type, dict[str, Any]]:
        """Columns that nothing else needs: a bus that has something else there is told so, and judged on."""
        free: dict[type, dict[str, Any]] = {Row: {}, CopyRow: {}}
        if self.choice("relay.log.24: the column", "is the file's", "is another's") == "is another's":
            free[Row]["file_inode"] = free[CopyRow]["file_inode"] = ANYTHING  # on another bus
        if self.choice("relay.log.25: the column", "is the file's", "is another's") == "is another's":
            free[Row]["checksum"] = ANYTHING  # on another bus
        return free

    def id_of(self, row: Row | CopyRow) -> Any:
        """message_id: the agent and the file's stem, or, on another bus, a part of them."""
        form = self.choice("relay.log.32", "AGENT/STEM", "STEM", "UUID")
        if isinstance(row, CopyRow):
            of_a_copy = self.choice("relay.log.32: of a delivered file", "as of any", "another text")
            if form == "UUID" or of_a_copy == "another text":  # on another bus
                return SOME_TEXT
            return Around("" if form == "STEM" else f"{row.recipient}/", row.name, ".msg")
        stem = row.file.removesuffix(".msg")
        return {"AGENT/STEM": row.message_id, "STEM": stem}.get(form, stem.partition("-")[2])

    def rows_of_row(self, name: str) -> tuple[str, ...]:
        """The sentences for a missing or extra row: those of its file, or, for a copy, of all that was handled."""
        if name in self.why:  # asked only on another bus
            return (*LOOKED_AT, *self.why[name]) if name in self.by_path else self.why[name]
        sources = [row.source for row in self.rows if row.name_in_ledger == name]
        path = () if name.startswith("copy for ") else ("relay.log.21",)
        return (*path, "relay.route.19", *self.whys([*sources, *self.handled]))

    # -- acts of agents and the kit in the folder

    def ledger(self) -> dict[str, Any]:
        """The tables as any SQLite client reads them."""
        return self.dump()

    def folder(self) -> dict[str, Any]:
        """All files."""
        self.row("relay.export.07")
        agents = [(name, self.folder_of(name, home)) for name, home in sorted(self.folders.items()) if not home.odd]
        kept = {
            f"{name}/{file}": (day, data)
            for day, names in self.archive.items()
            for name, files in names.items()
            for file, data in files.items()
        }
        return {
            "agents": Listed(agents, self.rows_of_agent),
            "archive": Kept(kept, self.why, self.whys(self.handled)),
            "tmp": Cited([], ("relay.log.08",)),
        }

    def folder_of(self, name: str, own: Folder) -> dict[str, Any]:
        """All files in an agent's folder."""

        def rows_of(file: str, *place: str) -> tuple[str, ...]:
            path = "/".join(("agents", name, "outbox", *place, file))
            moved = () if file in own.outbox else self.why.get(moving(path), ())  # it was handled, and is still there
            return moved or self.why.get(path, ()) or ("relay.log.04", "relay.log.07")

        outbox = [(file, own.outbox[file].told(file)) for file in sorted(own.outbox)]
        pending = [(file, own.pending[file].told(file)) for file in sorted(own.pending)]
        return {
            "name": name,
            "outbox": Listed(outbox, rows_of),
            "pending": Listed(pending, lambda file: rows_of(file, ".pending")),
            "inbox": self.inbox_of(own.inbox),
            "is_whole": SOME_FLAG if own.is_inbox_gone or own.blocked else Cited(own.is_whole, ("relay.presence.05",)),
        }

    def inbox_of(self, copies: list[Copy]) -> Cited:
        """Files, each with the branches of the message that it is a copy of."""
        files = [copy.told(self.why.get(copy.source, ())) for copy in copies]
        return Cited(
            files, ("relay.route.17", *self.whys(dict.fromkeys([*(copy.source for copy in copies), *self.handled])))
        )

    def config(self, **values: Any) -> dict[str, Any]:
        """Write config.json, which the next orchestrator reads."""
        self.config_file = values
        return {}

    def agent(self, name: str) -> dict[str, Any]:
        """An agent makes its outbox."""
        self.folders.setdefault(name, Folder())
        return {}

    def link_agent(self, name: str) -> dict[str, Any]:
        """A link in the place of an agent's folder."""
        self.folders[name] = Folder(odd="symlink")
        return {}

    def litter(self, name: str) -> dict[str, Any]:
        """A file among the agents' folders is no agent."""
        self.row("relay.presence.04")
        return {}

    def write(
        self, agent: str, file: str, data: str, mtime_ns: int, place: str = "outbox", odd: str = "", end: str = ""
    ) -> dict[str, Any]:
        """A whole file at once, or another thing under its name. `end` is hexadecimal, for bytes that are not UTF-8."""
        folder = self.folders.setdefault(agent, Folder())
        files, content = folder.pending if place == "pending" else folder.outbox, data.encode() + bytes.fromhex(end)
        if odd in ("in_place", "one_name") and file not in files:  # on another bus: what put it there was left out
            raise DoesNotApply
        if odd == "in_place":
            files[file] = replace(files[file], data=content, mtime_ns=mtime_ns)
            return {"inode": files[file].inode}
        if odd == "one_name":  # of two
            files[file] = replace(files[file], odd="")
            return {"inode": files[file].inode}
        inode = self.born(Number, "inode")
        files[file] = File(content, mtime_ns, inode, odd)
        copies = (row for row in self.rows if isinstance(row, CopyRow) and row.recipient == agent)
        self.is_name_unsure |= any(row.name.value is None and row.name.fits(file) for row in copies)
        return {"inode": inode}

    def remove(self, agent: str, file: str, place: str = "outbox") -> dict[str, Any]:
        """Take a file away again."""
        folder = self.folders.get(agent, Folder())
        (folder.pending if place == "pending" else folder.outbox).pop(file, None)
        return {}

    def attach(
        self, name: str, data: str, odd: bool | str = False, times: int = 1, in_place: bool = False
    ) -> dict[str, Any]:
        """An attachment under this hash: the data, repeated `times` times."""
        self.attachments[name] = None if odd else data.encode() * times
        return {}

    def detach(self, name: str) -> dict[str, Any]:
        """An attachment goes."""
        self.attachments.pop(name, None)
        return {}

    def block(self, agent: str, odd: str) -> dict[str, Any]:
        """Something else stands in the place of an inbox, and takes nothing."""
        folder = self.folders.setdefault(agent, Folder())
        self.obstacles += 1
        folder.inbox, folder.blocked, folder.blocked_since, folder.is_inbox_gone = [], odd, self.obstacles, False
        return {}

    def unblock(self, agent: str) -> dict[str, Any]:
        """It goes again."""
        folder = self.folders.get(agent, Folder())
        folder.inbox, folder.blocked, folder.is_inbox_gone = [], "", True
        return {}

    def place(self) -> dict[str, Any]:
        """A path for a copy of the ledger."""
        return {"path": self.born(Place, "path")}

    def said(self, agent: str) -> dict[str, Any]:
        """The things that a program was started with, as it tells them."""
        known = self.agents.get(agent)
        if known is None or not self.runs(known):
            return {"said": None}
        self.row(*STARTED)
        return {"said": known.said and known.said | {"folder": known.said["folder"] or SOME_TEXT}}

    def kill(self, agent: str) -> dict[str, Any]:
        """The process of an agent ends."""
        known = self.agents.get(agent)
        if known is not None and known.pid is not None:
            self.dead.add(known.pid.name)
        return {}

    def take(self, agent: str, folder_too: bool = False) -> dict[str, Any]:
        """An agent reads its inbox and clears it, or takes the folder away with its content."""
        folder = self.folders.get(agent, Folder())
        taken, folder.inbox = folder.inbox, []
        if folder_too:
            folder.is_inbox_gone, folder.blocked = True, ""
        return {"inbox": self.inbox_of(taken)}

    def burn(self, upto: int) -> dict[str, Any]:
        """Ids of rows that are gone: another id is no other message."""
        return {}

    def claim(self, message_id: str) -> dict[str, Any]:
        """Somebody else has a message in hand, and dies with it."""
        for row in self.rows:
            if isinstance(row, Row) and row.message_id == message_id and row.status == "pending":
                self.row("relay.lease.04")
                row.status = "processing"
        return {}

    def in_words(self) -> str:
        """The ledger and the folders, for a reader of a failure."""
        rows = [f"{row.path if isinstance(row, Row) else row.recipient}: {row.status}" for row in self.rows]
        return "\n".join([*map(str, self.agents.items()), *rows, *(f"{n}: {f}" for n, f in self.folders.items())])[
            :4000
        ]
