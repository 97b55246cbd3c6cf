"""log.removed asks every method that changes a database: of a bus that never looks for its file, each is told."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from busproof.bus.fleet import Fleet
from busproof.bus.warm import Warm
from busproof.contract import CONTRACTS
from busproof.contract.common import SESSION_METHODS
from busproof.faults.record import faults
from busproof.run.runner import run_item

# The author of a new method writes it here, or says in the scenario what it changes.
CHANGE_NO_ROW = {
    "worker": "poll poll_intervals liveness export_to_jsonl save_blob load_blob search status dead_letters worker_state"
    " dump",
    "comms": "validate_message receive_messages get_subscribed_channels dead_letters retry_delays tally"
    " get_agent_health write_artifact read_artifact circuit_breaker export_audit_trail dump",
    "topics": "tools.list ping topic_list topic_resolve topic_presence messages_search",
    "timeline": "subject_of key_of reply_key filter_subject matches log state verify replay timelines dump",
}


@pytest.mark.parametrize("system", CHANGE_NO_ROW)
def test_each_method_that_changes_a_database_is_asked_where_a_copy_took_its_place(system: str, warm: Warm) -> None:
    """Where the store has all its content, each can change something: none is asked in vain."""
    with closing(Fleet([faults(system)["writes_into_a_removed_file"].spec(warm)], system=system)) as fleet:
        (why,) = [result.why for result in run_item(fleet, "log.removed", seed=1)]
    named = re.findall(r"[a-z_]+", why.partition("replaced by its copy: ")[2])
    known = CONTRACTS[system].methods.keys() - SESSION_METHODS.keys()
    assert known - set(CHANGE_NO_ROW[system].split()) == known & set(named), why
