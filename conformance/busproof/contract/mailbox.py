"""`mailbox`: an inbox for each agent, an acknowledgement for each message (docs/spec/mailbox.md)."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from pydantic import Field

from busproof.contract.common import SESSION_METHODS, Contract, Done, Params, Reply, methods

# The promises of a bus. Each brings rows of its own; what is not declared is never asked and never assumed.
MAILBOX_FEATURES = {
    "limit": "receive answers no more messages than `limit` asks for; without this, as many as it likes",
    "restarts": "what was answered outlives the process that was asked; without this, no process is ended or killed",
    "ack": "a message comes again at each receive until it is acked, and not after (with `consumes`: see `unacked`)",
    "ack_many": "an ack of several messages is done as a whole; without this, one after another",
    "consumes": "receive shows a message once: to read is to take",
    "unacked": "a second view: the messages that are not acked, whatever receive has shown",
    "cumulative_ack": "the ack of a message acks every earlier one of that agent, too",
    "arrival": "messages of several senders are shown in the order in which their sends were answered",
    "page": "the client holds the position: receive answers what comes after `after`, and the next position",
    "number": "a message has a number `n`, above those of all messages that its reader was sent before",
    "sender": "receive tells who sent a message, as `from_agent`",
    "key": "a send again with the key of an earlier one of that sender is that message: sent once",
    "broadcast": "a send without `to` reaches every other agent that has received before",
    "late_readers": "a broadcast reaches agents that receive for the first time after it, too",
    "self_delivery": "an agent may send to itself, and a broadcast reaches its own sender, too",
    "threads": "`thread` and `reply_to` arrive as they were sent",
    "priority": "a higher priority is shown first, whatever was sent first; absent is 0",
    "compare_and_append": "receive answers a `base`; of two sends on one base, one at most is accepted",
    "wait": "receive waits for wait_ms, and ends when a message arrives",
    "renew": "a claim can be renewed by its holder",
    "fencing": "claim tells a token, which rises from grant to grant of a name",
    "redelivery": "a job that was taken, and is not done when its visible_ms have passed, can be taken again",
    "fifo": "a job that nobody has taken yet comes before those that were put after it",
    "attempts": "a job tells how often it was handed out, as `attempt`, from 1",
    "back": "a job that was taken can be given back, and taken at once",
    "synchronous": "option synchronous = FULL: with it the bus holds power-loss, whatever it declares without",
    "dead_letter": "a job handed out limits.attempts_max times is not handed out again, and `dead` lists it",
}


class SendParams(Params):
    """One message to one agent; without `to`, a broadcast (feature broadcast)."""

    agent_id: str
    to: str | None = None
    body: str
    key: str | None = Field(default=None, description="feature key: the sender's own name for this message")
    thread: str | None = Field(default=None, description="feature threads: any text")
    reply_to: str | None = Field(default=None, description="feature threads: the id of a message")
    priority: int | None = Field(default=None, description="feature priority: 0 to 9")
    base: Any = Field(default=None, description="feature compare_and_append: a base that receive answered")


class SendReply(Reply):
    """The message's id, as every view shows it."""

    id: str
    n: int | None = Field(default=None, description="feature number")


class ReceiveParams(Params):
    """What waits for this agent, oldest first. With `consumes` what is shown is taken."""

    agent_id: str
    limit: int = Field(default=100, description="no more messages than this, from 1; a bus may answer fewer")
    after: Any = Field(default=None, description="feature page: a position that an earlier receive answered")
    wait_ms: int = Field(default=0, description="feature wait: wait this long for a first message")


class Shown(Reply):
    """A message as its reader sees it."""

    id: str
    body: str
    from_agent: str | None = Field(default=None, description="feature sender")
    to_agent: str | None = None
    n: int | None = Field(default=None, description="feature number")
    thread: str | None = None
    reply_to: str | None = None
    priority: int | None = None


class MessagesReply(Reply):
    """Messages for this agent."""

    messages: list[Shown]


class ReceiveReply(MessagesReply):
    """At most `limit` messages."""

    position: Any = Field(default=None, description="feature page: the position after the last of them")
    base: Any = Field(default=None, description="feature compare_and_append")
    text: str | None = Field(default=None, description="what they were parsed from, if that is a text")


class AgentParams(Params):
    """One agent."""

    agent_id: str


class AckParams(Params):
    """These messages are done, for this agent alone. Ids of messages that were not shown to it change nothing."""

    agent_id: str
    ids: list[str]


class ClaimParams(Params):
    """Take a name for a time."""

    name: str
    agent_id: str
    ttl_ms: int


class HolderParams(Params):
    """The holder lets go. By anybody else it changes nothing, whether it is refused or not."""

    name: str
    agent_id: str
    token: int | None = Field(default=None, description="feature fencing: the token of the grant")


class RenewParams(HolderParams):
    """The claim holds for ttl_ms from now."""

    ttl_ms: int


class GrantReply(Reply):
    """granted is false, for claim: somebody holds the name; for renew: the caller does not."""

    granted: bool
    token: int | None = Field(default=None, description="feature fencing")


class PutParams(Params):
    """A job for whoever takes it first."""

    agent_id: str
    queue: str
    body: str


class PutReply(Reply):
    """The job's id."""

    id: str


class TakeParams(Params):
    """The oldest job that nobody has. It is this agent's for visible_ms."""

    agent_id: str
    queue: str
    visible_ms: int


class Job(Reply):
    """A job as its taker sees it."""

    id: str
    body: str
    attempt: int | None = Field(default=None, description="feature attempts")
    receipt: str | None = Field(default=None, description="the bus's name for this take, given back with done and back")


class TakeReply(Reply):
    """A job, or null: none waits."""

    job: Job | None


class JobParams(Params):
    """done: the job is finished and never comes again. back: it waits again, at once."""

    agent_id: str
    queue: str
    id: str
    receipt: str = Field(description="as take answered it; the id, where take answers none")


class QueueParams(Params):
    """One queue."""

    agent_id: str
    queue: str


class DeadReply(Reply):
    """Jobs that are not handed out any more."""

    jobs: list[Job]


MAILBOX_METHODS = SESSION_METHODS | methods(
    ("send", "log", None, SendParams, SendReply),
    ("receive", "cursor", None, ReceiveParams, ReceiveReply),
    ("unacked", "cursor", "unacked", AgentParams, MessagesReply),
    ("ack", "cursor", "ack", AckParams, Done),
    ("claim", "lease", None, ClaimParams, GrantReply),
    ("renew", "lease", "renew", RenewParams, GrantReply),
    ("release", "lease", None, HolderParams, Done),
    ("put", "jobs", None, PutParams, PutReply),
    ("take", "jobs", None, TakeParams, TakeReply),
    ("done", "jobs", None, JobParams, Done),
    ("back", "jobs", "back", JobParams, Done),
    ("dead", "jobs", "dead_letter", QueueParams, DeadReply),
)

# Error codes of `mailbox`. The bool is the reference's promise in `definite`.
MAILBOX_ERROR_CODES = {
    "INVALID_ARGUMENT": True,
    "BODY_TOO_LARGE": True,
    "KEY_CONFLICT": True,
    "BASE_CONFLICT": True,
    "MAILBOX_FULL": True,
    "NOT_HELD": True,
    "NOT_OPEN": True,
    "BUSY": True,
    "DISK_FULL": True,
    "CORRUPT": False,
    "IO_ERROR": False,
    "INTERNAL": False,
}

_NAME = {"key": ("params.name",), "token": ("reply.token", "params.token"), "granted": ("reply.granted",)}
_JOB = {"key": ("params.id",)}

CONTRACT = Contract(
    system="mailbox",
    methods=MAILBOX_METHODS,
    features=MAILBOX_FEATURES,
    error_codes=MAILBOX_ERROR_CODES,
    profiles={"core": ("log", "cursor"), "full": ("log", "cursor", "lease", "jobs")},
    store=PurePosixPath("mailbox.db"),
    tables="",
    reference="refbus.driver",
    callers=("agent_id",),
    options={"synchronous": "feature synchronous: with FULL nothing acknowledged is lost with the power"},
    limits={
        "unread_max": "send to an agent with so many unread messages is refused with MAILBOX_FULL",
        "body_chars_max": "a longer body is refused with BODY_TOO_LARGE",
        "ttl_ms": "a message that is older is not shown any more",
        "page_max": "receive answers so many messages at most, whatever `limit` asks",
        "attempts_max": "feature dead_letter: how often a job is handed out",
    },
    usual={"limit": "cursor", "restarts": "log"},
    columns={
        "send": {"key": ("reply.id",), "seq": ("reply.n",)},
        "claim": _NAME,
        "renew": _NAME,
        "release": _NAME,
        "put": {"key": ("reply.id",)},
        "take": {"key": ("reply.job.id",)},
        "done": _JOB,
        "back": _JOB,
    },
    trials={
        "receive": {"agent_id": "neighbour", "limit": 10},  # an agent exists from its first receive
        "send": {"agent_id": "doctor", "to": "neighbour", "body": "a note"},
        "unacked": {"agent_id": "doctor"},
        "ack": {"agent_id": "doctor", "ids": []},
        "claim": {"name": "visit", "agent_id": "doctor", "ttl_ms": 60_000},
        "renew": {"name": "visit", "agent_id": "doctor", "ttl_ms": 60_000},
        "release": {"name": "visit", "agent_id": "doctor"},
        "put": {"agent_id": "doctor", "queue": "visits", "body": "a job"},
        "take": {"agent_id": "doctor", "queue": "visits", "visible_ms": 60_000},
        "dead": {"agent_id": "doctor", "queue": "visits"},
    },
)
