"""Faults of comms, lease."""

import time
from typing import Any

from plant import fault, in_two_steps, patch, reword, rewrite
from waits import timed_before_the_lock

from refbus.comms import bus, lease
from refbus.comms.bus import CommsBus
from refbus.comms.lease import Leases
from refbus.kernel.errors import NotClaimed
from refbus.kernel.rules import delivery
from refbus.kernel.rules import limit as limits

CONTROL = "lease.claim"


@fault("comms.lease.20")
class ABroadcastComesAgain(CommsBus):
    """A broadcast that was completed is there again."""

    def complete_message(self, message_id: str, error: Any = None, **more: Any) -> dict[str, Any]:
        reply = super().complete_message(message_id, error, **more)
        self.store.db.write("DELETE FROM message_deliveries WHERE message_id = ? AND status = 'done'", (message_id,))
        return reply


@fault("comms.lease.22")
class ABroadcastIsNeverInHand(CommsBus):
    """Every claim of a broadcast is granted."""

    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        row = self.store.db.row("SELECT to_agent FROM messages WHERE id = ?", (message_id,))
        reply = super().claim_message(agent_id, message_id)
        return {"claimed": True} if row == (None,) else reply


@fault("comms.lease.23")
class ABroadcastNeedsNoClaim(CommsBus):
    """A broadcast is completed without a claim."""

    def complete_message(
        self, message_id: str, error: Any = None, agent_id: Any = None, delivery_count: Any = None
    ) -> dict[str, Any]:
        limits.text("message_id", message_id)
        row = self.store.db.row("SELECT to_agent FROM messages WHERE id = ?", (message_id,))
        if row == (None,) and agent_id is not None:
            self.claim_message(agent_id, message_id)
        return super().complete_message(message_id, error, agent_id, delivery_count)


@fault("comms.lease.04", control="lease.complete")
class AClaimLeavesNoTrace(CommsBus):
    """The row of a claimed message does not say so."""

    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        reply = super().claim_message(agent_id, message_id)
        self.store.db.write(
            "UPDATE messages SET last_delivered_at = NULL WHERE id = ? AND status = 'processing'", (message_id,)
        )
        return reply


@fault("comms.lease.18")
def a_look_ends_late_work():
    """A late completion no longer counts once anybody has cleaned up."""

    class Faulty(Leases):
        def is_let_go(self, tx: Any, message_id: str, agent_id: str) -> bool:
            return False

    patch(bus, Leases=Faulty)


@fault("comms.lease.10")
def anyone_claims():
    """Anyone claims anyone's message (C4)."""
    reword(lease, "_CLAIMABLE", "to_agent = :agent", "to_agent IS NOT NULL")


@fault("comms.lease.11")
def anyone_completes():
    """Any agent that completes a message completes it for its addressee."""
    owner = lease._owner
    patch(lease, _owner=lambda row, agent_id: row[2] or owner(row, agent_id))


@fault("comms.lease.12")
class ClaimsEndEarly(CommsBus):
    """A claim lives for fifty seconds."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store.visibility_ms = 50_000


@fault("comms.lease.02", "comms.lease.05", "comms.lease.26", control="lease.unclaimed")
class ClaimsEverything(CommsBus):
    """Every claim is granted."""

    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        super().claim_message(agent_id, message_id)
        return {"claimed": True}


@fault("comms.lease.27", chaos={"holds": True, "only": "claim_message"})
class ClaimsInTwoSteps(CommsBus):
    """Look, then take, in two transactions: two processes may both find the message free."""

    # Pauses between the two, as a slow disk would; its finding stands.

    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        row = self.store.db.row("SELECT status, delivery_count FROM messages WHERE id = ?", (message_id,))
        if row is None or row[0] != "pending":
            return super().claim_message(agent_id=agent_id, message_id=message_id)
        time.sleep(0.05)
        with self.store.transaction() as tx:
            tx.execute("UPDATE messages SET status = 'pending' WHERE id = ?", (message_id,))
        return super().claim_message(agent_id=agent_id, message_id=message_id)


@fault("comms.lease.13", "comms.lease.14")
class ClaimsNeverEnd(CommsBus):
    """A claimer that dies keeps its message for ever (C2)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store.visibility_ms = 10**10


@fault("comms.lease.01", "comms.lease.25", control="lease.unclaimed")
class ClaimsNothing(CommsBus):
    """No claim is ever granted."""

    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        return {"claimed": False}


@fault("comms.lease.23")
class CompletingClaims(CommsBus):
    """Completing a message that nobody has claimed claims it."""

    def complete_message(
        self, message_id: str, error: Any = None, agent_id: Any = None, delivery_count: Any = None
    ) -> dict[str, Any]:
        if agent_id is not None:
            self.claim_message(agent_id, message_id)
        return super().complete_message(message_id, error, agent_id, delivery_count)


@fault("comms.log.71", chaos={"points": True, "only": "claim_message"})
def deadline_afterwards():
    """A claim is stored, and its deadline in a transaction of its own."""
    # A claim's; a completion is as it should be.
    return in_two_steps(
        CommsBus, "claim_message", Leases, "store_delivery", lambda *args: args[2].status == "processing"
    )


@fault("comms.lease.04", control="log.envelope", item="corpus")
def delivered_when_it_was_sent():
    """last_delivered_at is the time of sending."""

    class Faulty(Leases):
        def claim_message(self, agent_id: str, message_id: str) -> Any:
            reply = super().claim_message(agent_id, message_id)
            update = "UPDATE messages SET last_delivered_at = timestamp WHERE id = ? AND status = 'processing'"
            self.store.db.write(update, (message_id,))
            return reply

    patch(bus, Leases=Faulty)


@fault("comms.lease.15")
class DeliveriesAreCountedAnew(CommsBus):
    """A claim that timed out is not counted."""

    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        reply = super().claim_message(agent_id, message_id)
        self.store.db.write(
            "UPDATE messages SET delivery_count = 1 WHERE id = ? AND status = 'processing'", (message_id,)
        )
        return reply


@fault("comms.lease.15", "comms.lease.16", "comms.lease.17", "comms.retry.04", "comms.retry.11")
def delivery_count_stands_still():
    """Every claim is the first delivery."""
    claimed = delivery.claimed
    patch(delivery, claimed=lambda *args: claimed(*args)._replace(delivery_count=1))


@fault("comms.lease.08")
class DoneIsCalledCompleted(CommsBus):
    """The status of a done message is `completed`."""

    def complete_message(self, message_id: str, error: Any = None, **more: Any) -> dict[str, Any]:
        reply = super().complete_message(message_id, error, **more)
        self.store.db.write("UPDATE messages SET status = 'completed' WHERE id = ? AND status = 'done'", (message_id,))
        return reply


@fault("comms.lease.06")
class DoneIsPending(CommsBus):
    """A completed message is pending again."""

    def complete_message(self, message_id: str, error: Any = None, **more: Any) -> dict[str, Any]:
        reply = super().complete_message(message_id, error, **more)
        self.store.db.write("UPDATE messages SET status = 'pending' WHERE id = ? AND status = 'done'", (message_id,))
        return reply


@fault("comms.lease.07")
def done_twice_is_an_error():
    """Completing a finished message is refused."""
    rewrite(lease.Leases.complete_message, 'return {"status": before.status}', 'raise NotClaimed("it is over")')


@fault("comms.lease.09")
class LooksThenTakes(CommsBus):
    """A claim looks first and takes later."""

    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        row = self.store.db.row("SELECT status FROM messages WHERE id = ?", (message_id,))
        if row is None or row[0] != "pending":
            return {"claimed": False}
        super().claim_message(agent_id, message_id)
        return {"claimed": True}


@fault("comms.lease.17")
class LostClaimsComplete(CommsBus):
    """The delivery_count of a completion is not looked at."""

    def complete_message(
        self, message_id: str, error: Any = None, agent_id: Any = None, delivery_count: Any = None
    ) -> dict[str, Any]:
        if delivery_count is not None:
            limits.integer("delivery_count", delivery_count, 1)
        return super().complete_message(message_id, error, agent_id)


@fault(
    "comms.lease.28",
    chaos={"holds": True, "only": "claim_message", "against": "a claim after the time-out that it got"},
)
class OldClaimsComplete(CommsBus):
    """A claimer completes its message, though its claim is over and another process has one by now."""

    def complete_message(self, message_id: str, error: Any = None, **more: Any) -> dict[str, Any]:
        more.pop("delivery_count", None)
        return super().complete_message(message_id, error, **more)


@fault("comms.lease.08", "comms.retry.01", item="corpus:060012")
class TheLastCompletionCounts(CommsBus):
    """A done message is failed if an error comes after it, and comes again."""

    def complete_message(
        self, message_id: str, error: Any = None, agent_id: Any = None, delivery_count: Any = None
    ) -> dict[str, Any]:
        reply = super().complete_message(message_id, error, agent_id, delivery_count)
        if error is not None and reply["status"] == "done":
            self.store.db.write("UPDATE messages SET status = 'failed', error = ? WHERE id = ?", (error, message_id))
        return reply


@fault("comms.lease.29", author="public report, qdrant-loader #363")
def begins_before_it_is_granted():
    """A claim takes the time before it waits for the file: its lease is shorter by as long as it waited."""
    timed_before_the_lock()


@fault("comms.lease.13", item="lease.late_completion", author="public report, Hangfire.Redis.StackExchange #135")
class TheLateTakeTheRecordAway(CommsBus):
    """A late completion is refused, and takes the end of the next one's claim away: if that one dies, too, it stays."""

    def complete_message(self, message_id: str, *args: Any, **how: Any) -> Any:
        try:
            return super().complete_message(message_id, *args, **how)
        except NotClaimed:
            with self.store.transaction() as tx:
                tx.execute(
                    "UPDATE message_deliveries SET visible_at = '9999-12-31T00:00:00.000000Z'"
                    " WHERE message_id = ? AND status = 'processing'",
                    (message_id,),
                )
            raise
