"""When a message is there: the views of extra.sql say what the pure rule says, for every pair of rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refbus.comms import lease, log, presence, request, route
from refbus.comms.bus import CommsBus
from refbus.comms.envelope import Envelope
from refbus.kernel import iso
from refbus.kernel.clock import Clock
from refbus.kernel.rules import delivery
from refbus.kernel.rules.delivery import Delivery

NOW_US = 1_768_053_600_000_000
STATUSES = ("pending", "processing", "done", "failed", "dead")
VALUES = {
    "channel": "general",
    "channels": '["general"]',
    "agent": "bob",
    "now": iso.text(NOW_US),
    "abandoned": iso.text(NOW_US - delivery.VISIBILITY_MS * 1_000),
    "limit": 10,
    "id": "m",
    "only": None,
    "correlation": "c",
    "sent": "s",
}


class Rows(NamedTuple):
    """A message, and the delivery of bob if he has one; each moment in microseconds from now."""

    to_agent: str | None
    status: str
    expires_us: int | None
    last_delivered_us: int | None
    own: Delivery | None


moments = st.sampled_from([-61_000_000, -60_000_001, -60_000_000, -59_999_999, -1, 0, 1, 1_000_000])
deliveries = st.builds(
    Delivery, st.sampled_from(STATUSES), st.integers(1, 5), st.integers(0, 2), moments.map(lambda at: NOW_US + at)
)
rows = st.builds(
    Rows,
    st.sampled_from(["bob", None, "carol"]),
    st.sampled_from(STATUSES),
    st.none() | moments,
    st.none() | moments,
    st.none() | deliveries,
)


@pytest.fixture(scope="module")
def one_bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommsBus]:
    """A bus for all examples, whose clock stands still."""
    with CommsBus(tmp_path_factory.mktemp("views"), clock=Clock(NOW_US // 1_000), retry_jitter=1.0) as bus:
        yield bus


def put(bus: CommsBus, given_rows: Rows) -> None:
    """The rows, and nothing else."""
    with bus.store.transaction() as tx:
        tx.execute("DELETE FROM messages")
        tx.execute("DELETE FROM message_deliveries")
        bus.log.insert(tx, envelope_to(given_rows.to_agent), at(given_rows.expires_us))
        tx.execute(
            "UPDATE messages SET status = ?, last_delivered_at = ?, delivery_count = 1",
            (given_rows.status, at(given_rows.last_delivered_us)),
        )
        if given_rows.own is not None:
            bus.leases.store_delivery(tx, "m", "bob", given_rows.own, None)


def envelope_to(to_agent: str | None) -> Envelope:
    """A message with the id m."""
    return Envelope("m", "note", "1.0", iso.text(NOW_US), "c", "alice", to_agent, "general", 5, "{}")


def at(offset_us: int | None) -> str | None:
    """The moment as text."""
    return None if offset_us is None else iso.text(NOW_US + offset_us)


def is_live(given_rows: Rows) -> bool:
    """Has it not expired?"""
    return given_rows.expires_us is None or given_rows.expires_us > 0


def is_claimable(bus: CommsBus, given_rows: Rows) -> bool:
    """By the pure rule, on bob's delivery as it is."""
    if given_rows.to_agent == "carol" or not is_live(given_rows):
        return False
    state = lease.State(given_rows.status, 1, given_rows.to_agent, at(given_rows.last_delivered_us))
    with bus.store.snapshot() as tx:
        return delivery.may_claim(bus.leases.delivery_of(tx, "m", "bob", state), NOW_US)


def is_foreign(given_rows: Rows) -> bool:
    """Has somebody that does not know the deliveries changed the message?"""
    own = given_rows.own
    return (
        given_rows.to_agent == "bob" and given_rows.status != "pending" and (not own or own.status != given_rows.status)
    )


@given(given_rows=rows)
def test_what_is_shown_is_what_may_be_claimed(one_bus: CommsBus, given_rows: Rows) -> None:
    """Nothing is shown that cannot be claimed; of strangers' claims only a clean-up tells."""
    put(one_bus, given_rows)
    is_broadcast_over = given_rows.to_agent is None and given_rows.status != "pending"
    expected = is_claimable(one_bus, given_rows)
    shown = bool(one_bus.receive_messages("bob", ["general"])["messages"])
    assert shown == (expected and not is_foreign(given_rows) and not is_broadcast_over)
    assert one_bus.claim_message("bob", "m")["claimed"] == expected


@given(given_rows=rows)
def test_a_clean_up_makes_pending_what_may_be_claimed(one_bus: CommsBus, given_rows: Rows) -> None:
    """Strangers' claims too; and it removes what has expired, unless somebody is at work on it."""
    put(one_bus, given_rows)
    expected = is_claimable(one_bus, given_rows)
    one_bus.cleanup_expired_messages()
    left = one_bus.dump()["messages"]
    if is_live(given_rows) and given_rows.to_agent == "bob" and (expected or given_rows.status != "pending"):
        assert (left[0]["status"] == "pending") == expected
    own = given_rows.own
    is_at_work = own is not None and own.status == "processing" and own.visible_at_us > NOW_US
    assert bool(left) or not (is_live(given_rows) or is_at_work)


@given(own=deliveries)
def test_the_view_of_deliveries_is_the_rule(one_bus: CommsBus, own: Delivery) -> None:
    """may_claim, in SQL."""
    put(one_bus, Rows("bob", "pending", None, None, own))
    row = one_bus.store.db.row("SELECT claimable_from <= ? FROM claimable_deliveries", (iso.text(NOW_US),))
    assert bool(row[0]) == delivery.may_claim(own, NOW_US)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (route._DUE_AGAIN, "idx_deliveries_due (agent_id=? AND visible_at<?)"),
        (presence._DUE_FOR_AGENT, "idx_deliveries_due (agent_id=? AND visible_at<?)"),
        (lease._CLAIMABLE, "(id=?)"),
        (request._ANSWERS, "idx_correlation (correlation_id=?)"),
        (log._EXPIRED, "idx_expiration (expires_at<?)"),
    ],
)
def test_a_view_costs_no_index(tmp_path: Path, query: str, index: str) -> None:
    """Each statement still searches."""
    with CommsBus(tmp_path) as bus:
        plan = [row[-1] for row in bus.store.db.rows(f"EXPLAIN QUERY PLAN {query}", VALUES)]
    assert any(step.startswith("SEARCH") and index in step for step in plan), plan
    assert not any(step.startswith("SCAN") and "json_each" not in step for step in plan), plan
