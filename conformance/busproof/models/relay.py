"""`relay` (seed 002, decisions R1 to R31) as an executable specification: read it as the seed's text.

Agents are folders. Each has an outbox, which it writes, and an inbox, which it reads; the orchestrator looks at all
outboxes (`scan`), enters what it finds in the ledger, delivers it, and moves it to the archive. What agents do is told
by the calls of the kit's hand. Nothing here knows files, SQL or processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

from busproof.models.relay_state import (
    EVENT_ROWS,
    SOME_NUMBER,
    Agent,
    Copy,
    CopyName,
    CopyRow,
    File,
    Folder,
    Number,
    Records,
    Refused,
    Row,
    sha256,
)
from busproof.models.relay_text import (
    EVERYBODY,
    FILE_NAME,
    LEAD,
    ORCHESTRATOR,
    RELEASE,
    REQUESTS,
    SPAWN,
    USUAL_PRIORITY,
    Message,
    is_address,
    is_agent_name,
    parsed,
    request,
    subscriptions,
)
from busproof.models.spec import Cited, Fits, Model
from busproof.protocol import CONTRACTS

RATE_WINDOW_MS = 60_000
MS = 1_000_000  # nanoseconds
COUNTS = ("discovered", "completed", "failed", "retried")
DEFAULTS = {
    "settle_ms": 100,
    "malformed_ms": 5_000,
    "orphan_ms": 30_000,
    "message_bytes_max": 1_048_576,
    "retries_max": 3,
    "retry_ms": 1_000,
    "rate_per_min": 6_000,
    "retention_days": 30,
    "agent_timeout_ms": 3_600_000,
    "archive": True,
}
FORM = tuple(f"relay.log.{n}" for n in (33, 34, 38, 40, 41, 42, 43, 44, 45))  # what makes a file a message, or not
COLUMNS = tuple(f"relay.log.{n}" for n in (*range(19, 26), 27, 28, 29, 31, 32))  # of rows, each held by itself
SOME_TEXT = Fits("text", lambda value: type(value) is str)


class Failure(Exception):
    """A message cannot be handled. What may still become possible is tried again."""

    def __init__(self, reason: str, *rows: str, may_come: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.rows, self.may_come = reason, rows, may_come


class RelayModel(Model):
    """One folder."""

    SYSTEM = "relay"
    EVERYTHING = frozenset(CONTRACTS["relay"].features) | frozenset(CONTRACTS["relay"].profiles["full"])

    def __init__(self, features: frozenset[str], limits: dict[str, int], dialects: dict[str, str]) -> None:
        super().__init__(features, limits, dialects)
        self.folders: dict[str, Folder] = {}
        self.agents: dict[str, Agent] = {}
        self.rows: list[Row | CopyRow] = []
        self.refused: list[Refused] = []
        self.known: dict[tuple[str, str], Any] = {}  # (event, path) → what stood there
        self.limited: set[str] = set()  # agents whose files wait
        self.channels: set[tuple[str, str]] = set()  # (channel, agent)
        self.archive: dict[str, dict[str, dict[str, bytes]]] = {}  # date → agent → file
        self.attachments: dict[str, bytes | None] = {}  # hash → content, None for what is no regular file
        self.config_file: dict[str, Any] = {}
        self.settings: dict[str, Any] = dict(DEFAULTS)
        self.opened_by: int | str | None = None
        self.monotonic_ms, self.clock_ms, self.pass_ms = 0, 0, 0
        self.seen: dict[str, tuple[Any, int]] = {}  # path → its looks, and since when
        self.counts = dict.fromkeys(COUNTS, 0)
        self.pass_rows: tuple[str, ...] = ()  # what the last pass did, for what only the folder shows

    def checked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Every call of an orchestrator lets it see the time."""
        if self.at == "hand" or method == "open":
            return params
        self.monotonic_ms += max(0, self.now_ms - self.clock_ms)
        self.clock_ms = self.now_ms
        if self.at != self.opened_by and method != "close":
            self.refuse("NOT_OPEN", "relay.lease.13")
        return params

    # -- the orchestrator's life

    def open(self, options: dict[str, Any]) -> dict[str, Any]:
        """Alone on the folder; what a predecessor had in hand when it died is taken up again."""
        if self.opened_by not in (None, self.at):
            self.refuse("LOCKED", "relay.lease.01", "relay.lease.02")
        self.row("relay.log.01", "relay.lease.11")
        self.opened_by = self.at
        self.settings = DEFAULTS | self.config_file | options
        self.monotonic_ms, self.clock_ms, self.pass_ms, self.seen, self.limited = 0, self.now_ms, 0, {}, set()
        for row in self.rows:
            if isinstance(row, Row) and row.status == "processing":
                if row.file in self.folders[row.agent].outbox:
                    self.row("relay.lease.05")
                    row.status = "pending"
                else:
                    self.row("relay.lease.06")
                    self.fail(row, "file_disappeared")
                    row.processed_at = SOME_NUMBER  # nobody has told the orchestrator the time yet
        return {}

    def close(self) -> dict[str, Any]:
        """Ends the agents that it started."""
        if self.at == self.opened_by:
            self.row("relay.presence.32")
            self.opened_by = None
            for agent in self.agents.values():
                if agent.pid is not None:
                    agent.status, agent.pid = "terminated", None
        return {}

    # -- one pass

    def scan(self) -> dict[str, Any]:
        """Look at everything, enter what is new, handle what is due."""
        self.row("relay.cursor.01", "relay.cursor.15", "relay.log.49", "relay.log.04", "relay.log.56")
        self.counts = dict.fromkeys(COUNTS, 0)
        before = len(self.refused)
        if self.pass_ms == 0:
            self.row("relay.lease.11")
        if self.now_ms < self.pass_ms:
            self.row("relay.log.52")
            self.refused.append(Refused(self.now_ms, "clock_back", ""))
        self.pass_ms = self.now_ms
        self.look_at_agents()
        self.clean_up()
        found = [one for name in sorted(self.agents) for one in self.found(name)]
        self.row("relay.log.50", "relay.log.51", "relay.log.36")
        for _, row in sorted(found, key=lambda one: (one[0], one[1].file, one[1].agent)):
            self.enter(row)
        for row in [row for row in self.rows if isinstance(row, Row) and self.is_due(row)]:
            self.process(row)
        self.pass_rows = tuple(dict.fromkeys(self._rows))
        return self.counts | {"refused": len(self.refused) - before}

    def look_at_agents(self) -> None:
        """New folders are new agents; who was silent for long is inactive."""
        for name, folder in sorted(self.folders.items()):
            if folder.odd:
                self.row("relay.limit.10")
                self.refuse_file(folder.odd, f"agents/{name}", name)
            elif not is_agent_name(name):
                self.row("relay.presence.01", "relay.presence.02", "relay.presence.03")
                self.refuse_file("bad_agent_name", f"agents/{name}", name)
            else:
                if name not in self.agents:
                    self.row("relay.presence.04", "relay.presence.05", "relay.presence.07", "relay.presence.08")
                    self.row("relay.presence.01", "relay.presence.02", "relay.presence.03")
                    self.agents[name] = Agent(self.now_ms)
                folder.is_whole = True
        for agent in self.agents.values():
            since = agent.registered_at if agent.last_seen_at is None else agent.last_seen_at
            is_silent = self.now_ms - since >= self.settings["agent_timeout_ms"]
            if agent.status == "active" and agent.pid is None and is_silent:
                self.row("relay.presence.10", "relay.presence.11")
                agent.status = "inactive"

    def clean_up(self) -> None:
        """Half files that nobody will finish, and old days of the archive."""
        for name in sorted(self.agents):
            pending = self.folders[name].pending
            for file, one in sorted(pending.items()):
                path = f"agents/{name}/outbox/.pending/{file}"
                if one.odd in ("symlink", "not_regular"):
                    self.row("relay.cursor.26")
                elif self.age_ns(path, one) > self.settings["orphan_ms"] * MS:
                    self.row("relay.cursor.25", "relay.cursor.05")
                    del pending[file]
                    self.refused.append(Refused(self.now_ms, "orphan_removed", path))
                else:
                    self.row("relay.cursor.26", "relay.log.06")
        self.row("relay.export.05", "relay.export.06")
        oldest = self.today() - timedelta(days=self.settings["retention_days"])
        for day in [day for day in self.archive if date.fromisoformat(day) < oldest]:
            del self.archive[day]

    def age_ns(self, path: str, file: File) -> int:
        """How long a file has been as it is: by its time, or as long as it was seen so where that lies ahead (R9)."""
        looks, since_ms = self.seen.get(path, (None, 0))
        if looks != file.looks:
            since_ms = self.monotonic_ms
            self.seen[path] = file.looks, since_ms
        if file.mtime_ns <= self.now_ms * MS:
            return self.now_ms * MS - file.mtime_ns
        self.row("relay.cursor.18", "relay.cursor.19", "relay.cursor.20")
        return (self.monotonic_ms - since_ms) * MS

    def refuse_file(self, event: str, path: str, what: Any) -> None:
        """Record it once, as long as the same thing stands there."""
        self.row("relay.limit.14", "relay.limit.16", EVENT_ROWS[event])
        if self.known.get((event, path)) != what:
            self.known[event, path] = what
            self.refused.append(Refused(self.now_ms, event, path))

    # -- what is found

    def found(self, name: str) -> list[tuple[int, Row]]:
        """Rows for an agent's new files, with their priority, as many as its rate allows."""
        found: list[tuple[int, Row]] = []
        recent = sum(
            row.discovered_at > self.now_ms - RATE_WINDOW_MS
            for row in self.rows
            if isinstance(row, Row) and row.agent == name
        )
        room, waits = max(0, self.settings["rate_per_min"] - recent), False
        for file in sorted(self.folders[name].outbox):
            if not self.is_candidate(name, file):
                continue
            if len(found) < room:
                one = self.judged(name, file)
                found += [one] if one is not None else []
            else:
                waits = True
        if waits and name not in self.limited:
            self.row("relay.limit.03", "relay.limit.04", "relay.limit.05")
            self.refused.append(Refused(self.now_ms, "rate_limited", f"agents/{name}"))
        self.limited = self.limited | {name} if waits else self.limited - {name}
        return found

    def is_candidate(self, name: str, file: str) -> bool:
        """Is it a new file that may be a message? Refuses what is odd, and reads again what changed."""
        one, path = self.folders[name].outbox[file], f"agents/{name}/outbox/{file}"
        if not file.endswith(".msg"):
            self.row("relay.log.48")
            return False
        if one.odd:
            self.refuse_file(one.odd, path, one.looks)
            return False
        if not FILE_NAME.fullmatch(file):
            self.row("relay.log.47")
            self.refuse_file("bad_file_name", path, one.looks)
            return False
        self.age_ns(path, one)
        known = next((row for row in self.rows if isinstance(row, Row) and row.path == path), None)
        if known is None:
            return True
        if known.looks == one.looks:
            self.row("relay.cursor.02")
        elif known.status != "pending":
            self.refuse_file("name_reused", path, one.looks)
        elif (found := self.judged(name, file)) is not None:
            self.read_again(known, found[1])
        return False

    def judged(self, name: str, file: str) -> tuple[int, Row] | None:
        """What a file is at this age; nothing while it may still be written."""
        one = self.folders[name].outbox[file]
        age_ns = self.age_ns(f"agents/{name}/outbox/{file}", one)
        if file in self.folders[name].pending:
            self.row("relay.cursor.06")
            return None
        if age_ns < self.settings["settle_ms"] * MS:
            self.row("relay.cursor.04")
            return None
        row = Row(
            name, file, len(one.data), one.mtime_ns, one.inode, None, "failed", None, None, self.now_ms, self.now_ms
        )
        if row.size > self.settings["message_bytes_max"]:
            self.row("relay.limit.01", "relay.limit.02")
            row.last_error = "too_large"
            return USUAL_PRIORITY, row
        message = parsed(one.data)
        if message is not None and message.is_whole:
            self.row(*FORM)
            self.row("relay.cursor.10", "relay.cursor.05", "relay.limit.02", "relay.log.46")
            row.status, row.processed_at, row.checksum = "pending", None, sha256(one.data)
            row.kind, row.target = message.kind, message.to
            return message.priority, row
        if age_ns < self.settings["malformed_ms"] * MS:
            self.row("relay.cursor.07" if one.data else "relay.cursor.03")
            return None
        row.checksum = sha256(one.data)
        if not one.data:
            self.row("relay.cursor.16")
            row.last_error = "empty"
        elif message is None:
            self.row("relay.cursor.08", "relay.cursor.17", "relay.route.16", *FORM)
            row.last_error = "malformed"
        else:
            self.row("relay.log.37", "relay.log.46")
            row.last_error = "checksum_mismatch"
        return USUAL_PRIORITY, row

    def read_again(self, known: Row, now: Row) -> None:
        """A pending file that changed: its row follows (R3)."""
        self.row("relay.cursor.11", "relay.cursor.12", "relay.cursor.13")
        known.size, known.mtime_ns, known.inode, known.checksum = now.size, now.mtime_ns, now.inode, now.checksum
        known.kind, known.target = now.kind, now.target
        known.processed_at = None
        if now.status == "failed":
            known.status, known.last_error, known.processed_at = "failed", now.last_error, self.now_ms
            self.counts["failed"] += 1
            self.put_away(known)

    def enter(self, row: Row) -> None:
        """Into the ledger."""
        self.rows.append(row)
        self.counts["discovered"] += 1
        agent = self.agents[row.agent]
        self.row("relay.presence.09")
        agent.last_seen_at = self.now_ms
        if agent.status == "inactive":
            self.row("relay.presence.11")
            agent.status = "active"
        if row.status == "failed":
            self.counts["failed"] += 1
            self.put_away(row)

    # -- what is handled

    def is_due(self, row: Row) -> bool:
        """Is it to be tried now?"""
        if row.status == "processing":
            self.row("relay.lease.04")
        if row.status != "pending" or row.processed_at is None:
            return row.status == "pending"
        self.row("relay.retry.04", "relay.retry.05")
        return bool(self.now_ms >= row.processed_at + self.settings["retry_ms"] * 2 ** (row.retry_count - 1))

    def process(self, row: Row) -> None:
        """Claim it, do what it asks, keep its file."""
        file = self.folders[row.agent].outbox.get(row.file)
        if file is None or file.odd:
            self.row("relay.lease.09")
            self.fail(row, "file_disappeared")
            return
        if file.looks != row.looks:
            self.row("relay.cursor.13")
            return
        try:
            if row.size > self.settings["message_bytes_max"]:  # it came in under one who took more (R4)
                raise Failure("too_large", "relay.limit.01", "relay.limit.02", "relay.retry.02")
            message = parsed(file.data)
            assert message is not None
            self.handle(row, message, file.data)
        except Failure as failure:
            self.row("relay.retry.01", "relay.retry.08", "relay.retry.09", *failure.rows)
            if failure.may_come and row.retry_count < self.settings["retries_max"]:
                self.row("relay.retry.03", "relay.retry.10")
                row.retry_count, row.last_error, row.processed_at = row.retry_count + 1, failure.reason, self.now_ms
                self.counts["retried"] += 1
                return
            self.row("relay.retry.02" if failure.may_come else "relay.retry.07")
            self.fail(row, failure.reason)
        else:
            self.row("relay.log.30", *(["relay.retry.06"] if row.retry_count else []))
            row.status, row.processed_at = "completed", self.now_ms
            self.counts["completed"] += 1
        self.put_away(row)

    def fail(self, row: Row, reason: str) -> None:
        """For good."""
        row.status, row.last_error, row.processed_at = "failed", reason, self.now_ms
        row.retry_count += 1
        self.counts["failed"] += 1

    def put_away(self, row: Row) -> None:
        """Its file goes to the archive."""
        if not self.settings["archive"]:
            self.row("relay.export.04")
            return
        self.row(
            "relay.export.01" if row.status == "completed" else "relay.export.02", "relay.export.03", "relay.log.07"
        )
        if row.status == "completed":
            row.status = "archived"
        day = self.archive.setdefault(self.today().isoformat(), {}).setdefault(row.agent, {})
        day[row.file] = self.folders[row.agent].outbox.pop(row.file).data

    def today(self) -> date:
        """In UTC."""
        return datetime.fromtimestamp(self.now_ms / 1000, UTC).date()

    def handle(self, row: Row, message: Message, data: bytes) -> None:
        """What a message asks for; raises Failure."""
        if not is_address(message.to):
            raise Failure("bad_address", "relay.route.13")
        if message.kind in REQUESTS and message.to != ORCHESTRATOR:
            raise Failure("misdirected", "relay.route.12")
        self.look_at_attachment(message)
        if message.to == ORCHESTRATOR:
            self.row("relay.route.10")
            self.answer(row, message)
            return
        recipients = list(self.recipients(row.agent, message.to))
        self.row("relay.log.05", "relay.log.35", "relay.log.39", "relay.route.14", "relay.route.15", "relay.route.16")
        for name in recipients:
            self.deliver(name, f"FROM: {row.agent}\nID: {row.message_id}\n".encode() + data, message.kind, message.to)

    def recipients(self, sender: str, to: str) -> Iterator[str]:
        """Who gets it, by name."""
        if to == EVERYBODY:
            self.row("relay.route.02", "relay.route.03", "relay.route.07")
            yield from sorted(name for name, one in self.agents.items() if one.status == "active" and name != sender)
        elif to.startswith("#"):
            self.row("relay.route.03", "relay.route.04", "relay.route.05", "relay.route.07")
            subscribers = {agent for channel, agent in self.channels if channel == to} - {sender}
            yield from sorted(name for name in subscribers if self.agents[name].status == "active")
        elif to == LEAD:
            lead: str = self.settings.get("lead", "")
            if not self.is_there(lead):
                raise Failure("no_lead", "relay.route.09", may_come=True)
            self.row("relay.route.08")
            yield lead
        elif not self.is_there(to):
            raise Failure("unknown_agent", "relay.retry.03", "relay.presence.30", may_come=True)
        else:
            self.row("relay.route.01", "relay.route.21")
            yield to

    def is_there(self, name: Any) -> bool:
        """Is it an agent to whom something can be delivered?"""
        return name in self.agents and self.agents[name].status != "terminated"

    def deliver(self, name: str, data: bytes, kind: str, target: str) -> None:
        """A new file in an inbox, and a row of its own."""
        self.row("relay.route.17", "relay.route.18", "relay.route.19", "relay.limit.08")
        folder = self.folders[name]
        copy = Copy(self.born(CopyName, "copy", folder.last_copy), data, self.born(Number, "inode"))
        folder.last_copy = copy.name
        folder.inbox.append(copy)
        self.rows.append(CopyRow(name, copy.name, data, copy.inode, kind, target, self.now_ms))

    def look_at_attachment(self, message: Message) -> None:
        """It must be there, and be what it is called."""
        wanted = message.attachment
        if wanted is None:
            return
        self.row("relay.blob.01", "relay.blob.02", "relay.blob.05")
        if wanted not in self.attachments:
            raise Failure("attachment_missing", "relay.blob.04")
        content = self.attachments[wanted]
        if content is None or sha256(content) != wanted:
            raise Failure("attachment_corrupt", "relay.blob.03", "relay.blob.04")

    # -- what the orchestrator is asked itself

    def answer(self, row: Row, message: Message) -> None:
        """Requests; all else is only recorded."""
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
        """Channels of the sender."""
        self.row("relay.route.05", "relay.route.11")
        changes = subscriptions(body)
        if changes is None:
            raise Failure("bad_request", "relay.route.06")
        added, removed = changes
        self.channels |= {(channel, agent) for channel in added}
        self.channels -= {(channel, agent) for channel in removed}

    def continuity(self, row: Row, body: str) -> None:
        """Keep the sender's state, or bring it."""
        action, _, state = body.partition("\n")
        self.row("relay.presence.33", "relay.presence.34")
        if action == "ACTION: save":
            self.agents[row.agent].state = state
        elif action == "ACTION: load":
            head = f"FROM: {ORCHESTRATOR}\nID: {row.message_id}\nTO: {row.agent}\nKIND: continuity\n\n"
            self.deliver(row.agent, (head + self.agents[row.agent].state).encode(), "continuity", row.agent)
        else:
            raise Failure("bad_request", "relay.presence.35")

    def spawn(self, message: Message) -> None:
        """Start an agent, if all that it needs is allowed (R5)."""
        fields = request(message, SPAWN, "PROMPT") or {}
        name, cli, pairs = fields.get("NAME", ""), fields.get("CLI", ""), fields.get("ENV", "")
        variables = [pair.partition("=") for pair in pairs.split(",")] if pairs else []
        if not is_agent_name(name) or not cli or not all(sign and key for key, sign, _ in variables):
            raise Failure("bad_request", "relay.presence.13", "relay.presence.25")
        if cli not in self.settings.get("clis", {}):
            raise Failure("denied", "relay.presence.20")
        if "WORKING_DIR" in fields and fields["WORKING_DIR"] not in self.settings.get("roots", []):
            raise Failure("denied", "relay.presence.22")
        if not {key for key, _, _ in variables} <= set(self.settings.get("env", [])):
            raise Failure("denied", "relay.presence.23")
        if self.is_there(name):
            raise Failure("agent_exists", "relay.presence.24")
        self.row("relay.presence.12", "relay.presence.14", "relay.presence.18")
        agent = self.agents.setdefault(name, Agent(self.now_ms))
        agent.status, agent.pid = "active", self.born(Number, "pid")
        self.folders.setdefault(name, Folder()).is_whole = True

    def release(self, message: Message) -> None:
        """End an agent."""
        name = (request(message, RELEASE, "REASON") or {}).get("NAME", "")
        if not is_agent_name(name):
            raise Failure("bad_request", "relay.presence.25", "relay.presence.27")
        if not self.is_there(name):
            raise Failure("unknown_agent", "relay.presence.29")
        self.row("relay.presence.26", "relay.presence.28")
        self.agents[name].status, self.agents[name].pid = "terminated", None

    # -- looking

    def status(self) -> dict[str, Any]:
        """How many, and who."""
        self.row("relay.export.12", "relay.log.26")
        states = [row.status for row in self.rows]
        counts = {name: states.count(name) for name in ("pending", "processing", "completed", "failed", "archived")}
        agents = [{"name": name, "status": one.status} for name, one in sorted(self.agents.items())]
        return counts | {"agents": Cited(agents, ("relay.export.12", *self.pass_rows))}

    def audit(self) -> dict[str, Any]:
        """What was refused."""
        self.row("relay.limit.16")
        return {"records": Records(tuple(self.refused))}

    def metrics(self) -> dict[str, Any]:
        """Numbers for an operator; a scenario looks at them."""
        return {"text": SOME_TEXT}

    def dump(self) -> dict[str, Any]:
        """The ledger."""
        self.row(*COLUMNS)
        agents = [
            {
                "name": name,
                "registered_at": Cited(one.registered_at, ("relay.presence.08", *self.pass_rows)),
                "last_seen_at": Cited(one.last_seen_at, ("relay.presence.09", *self.pass_rows)),
                "pid": one.pid,
                "status": Cited(one.status, ("relay.presence.10", "relay.presence.26", *self.pass_rows)),
            }
            for name, one in sorted(self.agents.items())
        ]
        rows = Cited([row.told(self.pass_rows) for row in self.rows], ("relay.log.49", *self.pass_rows))
        return {"messages": rows, "agents": Cited(agents, ("relay.presence.04", "relay.presence.07", *self.pass_rows))}

    # -- what agents and the kit do in the folder

    def ledger(self) -> dict[str, Any]:
        """The tables as any SQLite client reads them."""
        return self.dump()

    def folder(self) -> dict[str, Any]:
        """All files."""
        self.row("relay.export.07")
        agents = [
            {
                "name": name,
                "outbox": Cited(
                    [one.outbox[file].told(file) for file in sorted(one.outbox)], ("relay.log.07", *self.pass_rows)
                ),
                "pending": Cited([one.pending[file].told(file) for file in sorted(one.pending)], self.pass_rows),
                "inbox": Cited([copy.told() for copy in one.inbox], self.pass_rows),
                "is_whole": Cited(one.is_whole, ("relay.presence.05", *self.pass_rows)),
            }
            for name, one in sorted(self.folders.items())
            if not one.odd
        ]
        kept = [
            {"path": f"{day}/{name}/{file}", "data": data}
            for day, names in sorted(self.archive.items())
            for name, files in sorted(names.items())
            for file, data in sorted(files.items())
        ]
        rows = ("relay.export.07", "relay.export.03", *self.pass_rows)
        return {"agents": agents, "archive": Cited(kept, rows), "tmp": Cited([], ("relay.log.08",))}

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

    def write(
        self, agent: str, file: str, data: str, mtime_ns: int, place: str = "outbox", odd: str = "", end: str = ""
    ) -> dict[str, Any]:
        """A file, whole at once; or what else may stand under a name. `end` is hexadecimal, for what is no UTF-8."""
        folder = self.folders.setdefault(agent, Folder())
        inode = self.born(Number, "inode")
        content = data.encode() + bytes.fromhex(end)
        (folder.pending if place == "pending" else folder.outbox)[file] = File(content, mtime_ns, inode, odd)
        return {"inode": inode}

    def remove(self, agent: str, file: str, place: str = "outbox") -> dict[str, Any]:
        """Take a file away again."""
        folder = self.folders.get(agent, Folder())
        (folder.pending if place == "pending" else folder.outbox).pop(file, None)
        return {}

    def attach(self, name: str, data: str, odd: bool = False) -> dict[str, Any]:
        """An attachment under this hash."""
        self.attachments[name] = None if odd else data.encode()
        return {}

    def take(self, agent: str) -> dict[str, Any]:
        """An agent reads its inbox and clears it."""
        folder = self.folders.get(agent, Folder())
        taken, folder.inbox = folder.inbox, []
        return {"inbox": Cited([copy.told() for copy in taken], self.pass_rows)}

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
