"""`topics`, as chaos sees it: an MCP server, looked at from outside."""

from __future__ import annotations

from buschaos.subjects.base import ACTS, Repertoire, Subject, Truth
from buschaos.subjects.topics.consumer import CONSUMER
from buschaos.subjects.topics.deliveries import deliveries
from buschaos.subjects.topics.memory import TopicsMemory, read_all
from buschaos.subjects.topics.operations import LIKE, OPERATIONS, PEERS, READS, WAITS, enter, ids, prepare
from buschaos.subjects.topics.roles import ROLES
from buschaos.subjects.topics.shown import shown
from buschaos.subjects.topics.state import comparable, facts, problems, promises, read
from busproof.bus.base import Refused
from busproof.contract.topics import TOPICS_ERROR_CODES


def says_full(error: Refused) -> bool:
    """The seed has no word for a full disk, and each of its own says something else."""
    return error.code not in TOPICS_ERROR_CODES


SUBJECT = Subject(
    Repertoire(OPERATIONS, prepare, ids, reads=READS, like=LIKE, peers=PEERS, waits=WAITS),
    Truth(facts, comparable, promises, problems, deliveries),
    acts=ACTS | {"chaos.waits", "chaos.gone_callers"},
    roles=ROLES,
    memory=TopicsMemory,
    retried=frozenset({"sync"}),
    expected=frozenset({"DB_BUSY"}),
    settle=("topic_list", {"status": "all"}),
    id="client_message_id",
    read_all=read_all,
    enter=enter,
    read=read,
    shown=shown,
    says_full=says_full,
    names_full_disk=False,
    consumer=CONSUMER,
    is_slow_to_start=True,
)
