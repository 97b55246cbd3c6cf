"""`relay`, as chaos sees it: one orchestrator over a folder into which agents write.

A pass has many steps, and each may be the last that a process makes. The next process must finish the work that was
begun: so a survivor makes a pass before it is asked what there is (`catch_up`), and everything must then be as if
nobody had died.
"""

from __future__ import annotations

from buschaos.subjects.base import Repertoire, Subject, Truth
from buschaos.subjects.relay.agents import NAME, end_agents, take_and_link
from buschaos.subjects.relay.folder import facts, state
from buschaos.subjects.relay.operations import LIKE, OPERATIONS, OTHERS, PEERS, READS, ids, prepare
from buschaos.subjects.relay.roles import ROLES, RelayMemory
from buschaos.subjects.relay.state import comparable, pieces, problems, promises
from busproof.bus.base import Refused


def says_full(error: Refused) -> bool:
    """Judge by its code alone: a pass that met a full disk may have done a part before, so it promises nothing."""
    return error.code == "DISK_FULL"


SUBJECT = Subject(
    Repertoire(OPERATIONS, prepare, ids, reads=READS, like=LIKE, peers=PEERS, others=OTHERS),
    Truth(facts, comparable, promises, problems, pieces=pieces),
    roles=ROLES,
    memory=RelayMemory,
    retried=frozenset(),
    expected=frozenset({"BUSY"}),
    settle=("status", {}),
    export="scan",
    read_all=lambda _session, _told: None,
    read=state,
    says_full=says_full,
    is_alone=True,
    catch_up="scan",
    meanwhile=take_and_link,
    spares=NAME,
    end_spared=end_agents,
    id="message_id",
    table="ledger",
)
