"""The reply of each method of the bus, field by field. Times are epoch milliseconds."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from refbus.kernel.rules.presence import State

PayloadError = Literal["blob_missing", "blob_corrupt", "blob_invalid", "decode_failed", "bad_signature"]
Row = dict[str, Any]  # a row of a table, its columns by name


class Nothing(TypedDict):
    """An empty object: done."""


class Message(TypedDict):
    """A row of the log as its reader sees it."""

    seq: int
    id: str
    ts_ms: int
    from_agent: str
    to_agent: str | None  # None: a broadcast
    type: str
    correlation_id: str | None
    in_reply_to: str | None
    payload: NotRequired[Any]  # any JSON value; missing where the message has none, or one that cannot be read
    payload_ref: NotRequired[str]  # the payload came from this blob
    payload_error: NotRequired[PayloadError]


class Published(TypedDict):
    """publish."""

    id: str
    seq: int


class PublishedMany(TypedDict):
    """publish_many: ids and seqs in the order given."""

    ids: list[str]
    seqs: list[int]


class Messages(TypedDict):
    """poll and search."""

    messages: list[Message]


class Acknowledged(TypedDict):
    """ack."""

    last_acked_seq: int


class Processed(TypedDict):
    """process_loop: the ids handled, in order, and the id whose handler failed."""

    handled: list[str]
    failed: str | None


class Intervals(TypedDict):
    """poll_intervals: milliseconds, one for each poll."""

    intervals_ms: list[float]


class Claimed(TypedDict):
    """try_claim_task. `token` is the fencing token of this grant."""

    claimed: bool
    token: NotRequired[int]
    lease_until_ms: NotRequired[int]


class Renewed(TypedDict):
    """renew_claim."""

    renewed: bool
    lease_until_ms: NotRequired[int]


class Released(TypedDict):
    """release_claim."""

    released: bool


class Agent(TypedDict):
    """An agent's last heartbeat, and the state by its age."""

    agent_id: str
    ts_ms: int
    age_ms: int
    state: State
    status: str
    current_task: str | None
    progress: float | None


class Agents(TypedDict):
    """liveness."""

    agents: list[Agent]


class Exported(TypedDict):
    """export_to_jsonl: everything up to last_seq has been exported."""

    last_seq: int


class BlobRef(TypedDict):
    """save_blob: `sha256-` and 64 hex digits."""

    ref: str


class BlobContent(TypedDict):
    """load_blob."""

    content: Any


class Archived(TypedDict):
    """archive: how many messages left the log, and the seq up to which everybody has processed it."""

    archived: int
    below_seq: int


class StatusRow(TypedDict):
    """A state_change or heartbeat message."""

    from_agent: str
    type: str
    ts_ms: int
    payload: Any


class StatusRows(TypedDict):
    """status."""

    rows: list[StatusRow]


class DeadLetter(Message):
    """A message that its agent gave up."""

    deliveries: int
    dead_at_ms: int


class DeadLetters(TypedDict):
    """dead_letters."""

    messages: list[DeadLetter]


class Redriven(TypedDict):
    """redrive."""

    redriven: bool


class WorkerState(TypedDict):
    """worker_state: None for a worker that nobody assigned."""

    worker: str
    state: str | None


class Transitioned(TypedDict):
    """transition: `changed` is false for a repeat."""

    worker: str
    state: str
    changed: bool


class Dumped(TypedDict):
    """dump: the tables, and `ok` or the faults that SQLite finds in its file."""

    messages: list[Row]
    cursors: list[Row]
    task_claims: list[Row]
    heartbeats: list[Row]
    archived: list[Row]
    dead_letters: list[Row]
    task_tokens: list[Row]
    export_last_seq: int | None
    integrity: str
