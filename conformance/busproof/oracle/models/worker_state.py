"""The content of a `worker` store, and the acts of a stranger on its files without any bus."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from busproof.contract.worker import COLUMNS, CONTRACT, LEASE_MS
from busproof.oracle.models.parts import ANYTHING
from busproof.oracle.models.spec import Above, Cited, Difference, Free, Json, Part, plain
from busproof.oracle.models.worker_parts import Lines
from busproof.oracle.models.worker_values import Values, is_ref
from busproof.words import as_json

LOST, DAMAGED, UNSURE = "lost", "damaged", "unsure"  # the fate of a blob; UNSURE: a refused call may have mended it


@dataclass
class Options:
    """The options of one session."""

    lease_ms: int = LEASE_MS
    unread_max: int | None = None
    deliveries_max: int | None = None
    signing_key: str | None = None
    synchronous: str = "NORMAL"


@dataclass(eq=False)
class Row:
    """A message in the log. `text` is its payload's JSON, wherever that is stored; None is an absent payload."""

    seq: Any
    id: Any
    ts_ms: int
    from_agent: str
    to_agent: str | None
    type: str
    correlation_id: str | None
    in_reply_to: str | None
    text: str | None
    ref: str | None
    signed: tuple[Any, ...] = ()  # the key, and the columns as they were signed
    known: frozenset[str] | None = None  # the agents that had polled before it; None: whoever comes is given it

    @property
    def number(self) -> float:
        """Its place; a row whose seq nobody told yet stands last."""
        seq = plain(self.seq)
        return math.inf if seq is None else seq

    def columns(self) -> dict[str, Any]:
        """The row as it stands in the table."""
        inline = self.text if self.ref is None else None
        values = (self.seq, self.id, self.ts_ms, self.from_agent, self.to_agent, self.type, self.correlation_id)
        return dict(zip(COLUMNS, (*values, self.in_reply_to, inline, self.ref), strict=True))


@dataclass
class Draft:
    """A sender's message, checked."""

    id: str | None
    to: str | None
    type: str
    correlation_id: str | None
    in_reply_to: str | None
    text: str | None
    ref: str | None


@dataclass
class Claim:
    """Somebody's lease of a task's name."""

    claimed_by: str
    claimed_at_ms: int
    until_ms: int
    said_by: tuple[str, ...] = ("worker.lease.24",)  # the rows of the call that set its end

    def columns(self, task_id: str) -> dict[str, Any]:
        """The row as it stands in the table."""
        granted = {"claimed_by": self.claimed_by, "claimed_at_ms": self.claimed_at_ms}
        return {
            "task_id": task_id,
            **{name: Cited(value, ("worker.lease.24",)) for name, value in granted.items()},
            "lease_until_ms": Cited(self.until_ms, self.said_by),
        }


class WorkerState(Values):
    """One store, as all its processes see it."""

    SYSTEM = "worker"
    EXACT = ("worker.limit.18",)
    WRITES, STORED = ("publish",), ("worker.log.29",)
    ISOLATED = ("worker.log.66",)
    NOUNS = frozenset({"log", "cursor", "route", "lease", "presence", "blob", "retry", "limit", "search", "export"})
    EVERYTHING = NOUNS | CONTRACT.features.keys() | {"name_bytes_max", "text_chars_max"}

    def __init__(self, *bus: Any) -> None:
        super().__init__(*bus)
        self.sessions: dict[int | str, Options] = {}
        self.log: list[Row] = []
        self.archived: list[Row] = []
        self.deleted: list[Row] = []  # by another program
        self.by_id: dict[str, Row] = {}
        self.unnamed: list[Row] = []  # whose id the bus has yet to tell
        self.highest: Any = 0  # no new seq at or below this
        self.spent = 0  # publishes since the newest message, each of which may have used up a number for nothing
        self.cursors: dict[str, tuple[int, int]] = {}  # agent → seq, when
        self.readers: list[str] = []  # the agents that have polled, if the bus lacks something usual
        self.deliveries: dict[tuple[str, int], int] = {}
        self.dead: dict[tuple[str, int], tuple[int, int]] = {}  # agent, seq → deliveries, when
        self.redriven: dict[tuple[str, int], bool] = {}  # agent, seq → was it handed out again?
        self.beats: dict[str, dict[str, Any]] = {}
        self.claims: dict[str, Claim] = {}
        self.tokens: dict[str, Any] = {}
        self.strange_claims: set[str] = set()  # tasks that another program took, without a token
        self.workers: dict[str, str] = {}
        self.spoiled_mirrors: set[str] = set()  # of workers: the next change of their state, at the latest, mends them
        self.blobs: dict[str, str] = {}  # ref → the text
        self.harm: dict[str, str] = {}  # ref → LOST, DAMAGED or UNSURE
        self.scraps: dict[str, str] = {}  # blobs that a refused batch may have left
        self.indexed: dict[Row, tuple[list[str], list[str]]] = {}  # words that a search read when it first came by
        self.in_file: list[dict[str, Any]] = []  # the lines of bus.jsonl
        self.is_told_otherwise = False  # the row of one of them has another id by now: any handling of that is allowed
        self.exported_to: Free | int = 0  # according to the database
        self.is_torn = self.is_forgotten = False  # was there ever a crash in the middle of a line, or after it?

    def options_declared(self, options: dict[str, Any]) -> dict[str, Any]:
        """Options belong to features; `lease_ms` and `synchronous` are the reference's own."""
        of = {"unread_max": "backpressure", "deliveries_max": "dead_letter", "signing_key": "signing"}
        return {name: value for name, value in options.items() if of.get(name, "fencing") in self.features}

    @property
    def session(self) -> Options:
        """The caller's session."""
        return self.sessions[self.at]

    @property
    def key(self) -> str | None:
        """The caller's signing key; hex digits have no case."""
        key = self.session.signing_key
        return None if key is None else key.lower()

    def position(self, agent: str) -> int:
        """How far an agent has processed the log."""
        return self.cursors.get(agent, (0, 0))[0]

    def everything(self) -> list[Row]:
        """The log and the archived messages, in seq order."""
        return sorted([*self.archived, *self.log], key=lambda row: row.number)

    def known(self, message_id: str) -> Row | None:
        """The message of an id, archived or not."""
        self.by_id |= {plain(row.id): row for row in self.unnamed if plain(row.id) is not None}
        self.unnamed = [row for row in self.unnamed if plain(row.id) is None]
        return self.by_id.get(message_id)

    def wants_look(self) -> str | None:
        """A state change tells neither id nor seq of its message; a refused call may have mended a blob."""
        if UNSURE in self.harm.values():
            return "blob_files"
        return "dump" if self.log and self.log[-1].number == math.inf and "dump" in self.features else None

    def in_words(self) -> str:
        """The content of the store, one line for each thing."""
        log = [f"{plain(row.seq)} {row.from_agent}→{row.to_agent or 'all'} {row.type[:20]}" for row in self.log[-12:]]
        parts = {
            "log": [f"({len(self.log)} messages)", *log] if self.log else [],
            "archived": [plain(row.seq) for row in self.archived[-12:]],
            "cursors": [f"{agent} at {seq}" for agent, (seq, _) in self.cursors.items()],
            "deliveries": [f"{agent} {seq}: {count}" for (agent, seq), count in self.deliveries.items()],
            "dead letters": [f"{agent} {seq}" for agent, seq in self.dead],
            "redriven": [f"{agent} {seq}" for agent, seq in self.redriven],
            "claims": [f"{t}: {c.claimed_by} until {c.until_ms}" for t, c in self.claims.items()],
            "heartbeats": [f"{agent} at {beat['ts_ms']}" for agent, beat in self.beats.items()],
            "workers": [f"{worker} {state}" for worker, state in self.workers.items()],
            "harmed blobs": [f"{ref[:14]}… {harm}" for ref, harm in self.harm.items()],
            "sessions": [f"{at}: {vars(options)}" for at, options in self.sessions.items()],
        }
        return "\n".join(f"  {name}: {', '.join(map(str, things))}" for name, things in parts.items() if things)

    # -- the acts of the kit's own hand on the files

    def stranger_publishes(self, row: dict[str, Any]) -> dict[str, Any]:
        """A program without this bus writes to the table."""
        self.row("worker.log.28")
        seq = self.highest = self.born(Above, "seq", self.highest)
        self.spent = 0
        columns: dict[str, Any] = {name: row.get(name) for name in COLUMNS[1:-2]}
        ref = row.get("payload_ref")
        self.log.append(Row(seq, **columns, text=row.get("payload") if ref is None else self.blobs.get(ref), ref=ref))
        self.unnamed.append(self.log[-1])
        return {"seq": seq}

    def stranger_acks(self, agent_id: str, seq: int, now_ms: int) -> dict[str, Any]:
        """Acknowledge by the seed's own statement."""
        self.row("worker.log.43", "worker.log.63")
        self.cursors[agent_id] = max(self.position(agent_id), seq), now_ms
        return {}

    def stranger_claims(self, task_id: str, agent_id: str, now_ms: int, lease_until_ms: int) -> dict[str, Any]:
        """Take a task by the seed's own statements, which know no tokens."""
        self.row("worker.log.28")
        claim = self.claims.get(task_id)
        if claim is None or claim.until_ms <= now_ms:
            self.claims[task_id] = Claim(agent_id, now_ms, lease_until_ms)
            self.strange_claims.add(task_id)
        return {}

    def stranger_releases(self, task_id: str, agent_id: str) -> dict[str, Any]:
        """Give it back by the seed's own statement."""
        self.row("worker.log.28")
        claim = self.claims.get(task_id)
        if claim is not None and claim.claimed_by == agent_id:
            del self.claims[task_id]
        return {}

    def stranger_deletes(self, seq: int) -> dict[str, Any]:
        """Another program clears a message away; its number and its line in the export stay."""
        self.row("worker.log.26", "worker.log.28")
        self.known("")
        gone = [row for row in self.log if plain(row.seq) == seq]
        for row in gone:
            self.log.remove(row)
            self.by_id.pop(plain(row.id), None)
        self.deleted += gone
        return {}

    def stranger_beats(self, row: dict[str, Any]) -> dict[str, Any]:
        """Write a heartbeat of any content, by the seed's own statement."""
        self.row("worker.log.28")
        beat = {name: row.get(name) for name in ("agent_id", "ts_ms", "status", "current_task", "progress")}
        progress = beat["progress"]
        self.beats[row["agent_id"]] = beat | {"progress": None if progress is None else Json(progress)}
        return {}

    def burn(self, upto: int) -> dict[str, Any]:
        """Numbers that were taken and rolled back: a gap (W14)."""
        self.row("worker.log.26")
        if upto > plain(self.highest):
            self.highest = upto
        return {}

    def tamper(self, seq: int, column: str, value: Any) -> dict[str, Any]:
        """Somebody changes a row that stands in the log."""
        for row in self.log:
            if plain(row.seq) == seq and column == "payload_ref":
                row.ref, row.text = value, self.blobs.get(value)
            elif plain(row.seq) == seq:
                # A line with another id than the row's is taken for one of a log that a power cut took back.
                is_exported = seq in (plain(line["seq"]) for line in self.in_file)
                self.is_told_otherwise |= column == "id" and is_exported
                setattr(row, "text" if column == "payload" else column, value)
        return {}

    def lose_blob(self, ref: str) -> dict[str, Any]:
        """Its file goes."""
        if ref in self.blobs:
            self.harm[ref] = LOST
        self.scraps.pop(ref, None)
        return {}

    def spoil_blob(self, ref: str, content: str) -> dict[str, Any]:
        """Its file holds something else."""
        if ref in self.blobs and self.harm.get(ref) != LOST:
            self.harm[ref] = DAMAGED
        return {}

    def blob_files(self) -> dict[str, Any]:
        """Every blob whole, none too many, no scratch file left."""
        self.row("worker.blob.07", "worker.blob.08")
        return {"files": Files(self)}

    def tear_export(self, tail: str) -> dict[str, Any]:
        """A crash in the middle of a line."""
        self.is_torn = True
        return {}

    def forget_export(self) -> dict[str, Any]:
        """A crash between the file and the database."""
        self.exported_to, self.is_forgotten = 0, True
        return {}

    def rotate_export(self) -> dict[str, Any]:
        """Somebody moves bus.jsonl away, as logs are rotated."""
        self.in_file = []
        return {}

    def exported(self) -> dict[str, Any]:
        """The whole lines of bus.jsonl."""
        if self.is_told_otherwise:
            return {"lines": ANYTHING}
        return {
            "lines": Lines(
                self.in_file,
                no_line="worker.export.09" if self.is_torn else "worker.export.02",
                missing="worker.export.01",
                doubled=("worker.export.08",) if self.is_forgotten else ("worker.export.05", "worker.export.10"),
                order="worker.export.03",
                content="worker.export.02",
            )
        }

    def spoil_mirror(self, worker: str, content: str | None) -> dict[str, Any]:
        """A mirror decides nothing, so nothing else changes."""
        self.spoiled_mirrors.add(worker)
        return {}

    def worker_file(self, worker: str) -> dict[str, Any]:
        """workers/NAME.json mirrors the state."""
        self.row("worker.presence.17")
        if worker in self.spoiled_mirrors:  # when it is mended is free
            return {"state": ANYTHING}
        return {"state": self.workers.get(worker)}


class Files(Part):
    """The folder of blobs: those that must be there, those that may be, and those unknown until somebody looks."""

    def __init__(self, model: WorkerState) -> None:
        self.model = model

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """Hold {ref: text} against the model, and learn what became of blobs that may have been mended."""
        model = self.model
        for ref in [ref for ref, harm in model.harm.items() if harm == UNSURE]:
            if actual.get(ref) == model.blobs[ref]:  # on another bus maybe not
                del model.harm[ref]
            else:
                model.harm[ref] = DAMAGED if ref in actual else LOST
        whole = {ref: text for ref, text in model.blobs.items() if ref not in model.harm}
        if not whole.items() <= actual.items():  # on another bus
            return Difference(path, repr(self), as_json(actual), rows)
        if strange := sorted(actual.keys() - model.blobs.keys() - model.scraps.keys()):  # on another bus
            is_scratch = not all(map(is_ref, strange))
            row = "worker.blob.08" if is_scratch else "worker.limit.09"
            return Difference(path, f"{self!r}, of calls that were taken", as_json(strange), (row,))
        return None

    def __repr__(self) -> str:
        return f"<the whole blobs {sorted(self.model.blobs.keys() - self.model.harm.keys())}>"
