"""Faults of worker, lease."""

import sqlite3
from typing import Any

from plant import fault, patch

from refbus.kernel.errors import BusError
from refbus.kernel.rules import lease
from refbus.worker.bus import WorkerBus

CONTROL = "lease.claim_survives_kill"


@fault("worker.lease.04", item="corpus:06064")
def a_holder_claims_again():
    """A holder's second claim is a new grant (W9)."""
    _claimants: list[str] = []
    _may_take = lease.may_take
    patch(lease, may_take=lambda claim, now_ms: _may_take(claim, now_ms) or claim.claimed_by == _claimants[-1])

    class Faulty(WorkerBus):
        def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
            _claimants.append(agent_id)
            return super().try_claim_task(task_id, agent_id)

    return Faulty


@fault("worker.lease.14", "worker.lease.12")
class AnyoneReleases(WorkerBus):
    """Any agent may release a claim."""

    def release_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        self.db.write("DELETE FROM task_claims WHERE task_id = ?", (task_id,))
        return {"released": True}


@fault("worker.lease.10", "worker.lease.12")
class AnyoneRenews(WorkerBus):
    """Any agent may renew a claim."""

    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        until_ms = self.store.clock.now_ms() + self.store.lease_ms
        sql = "UPDATE task_claims SET lease_until_ms = ? WHERE task_id = ?"
        return {"renewed": self.db.write(sql, (until_ms, task_id)).rowcount > 0}


@fault("worker.lease.27")
class BeginsBeforeItIsGranted(WorkerBus):
    """A claim takes the time before it waits for the file: its lease is shorter by as long as it waited."""

    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        asked_ms = self.store.clock.now_ms()
        reply = super().try_claim_task(task_id=task_id, agent_id=agent_id)
        if reply["claimed"]:
            reply["lease_until_ms"] = asked_ms + self.store.lease_ms
            self.db.write(
                "UPDATE task_claims SET lease_until_ms = ? WHERE task_id = ?", (reply["lease_until_ms"], task_id)
            )
        return reply


@fault("worker.lease.26", "worker.log.66", chaos={"holds": True, "only": "try_claim_task"})
class BelievesItsOwnClaims(WorkerBus):
    """A process believes to have its grant until it gives it back, whatever the file says by then."""

    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        reply = super().try_claim_task(task_id=task_id, agent_id=agent_id)
        if reply["claimed"]:
            self.store.__dict__.setdefault("granted", set()).add((task_id, agent_id))
        return reply

    def release_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        if (task_id, agent_id) in self.store.__dict__.get("granted", ()):
            self.db.write("DELETE FROM task_claims WHERE task_id = ?", (task_id,))
            return {"released": True}
        return super().release_claim(task_id=task_id, agent_id=agent_id, token=token)


@fault("worker.lease.21")
class CheckThenAct(WorkerBus):
    """A claim is looked at in one transaction and taken in another."""

    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        with self.store.snapshot() as tx:
            if not lease.may_take(self.claims.claim(tx, task_id), tx.now_ms):
                return {"claimed": False}
        values = (task_id, agent_id, tx.now_ms, tx.now_ms + self.store.lease_ms)
        self.db.write("INSERT OR REPLACE INTO task_claims VALUES (?, ?, ?, ?)", values)
        return {"claimed": True}


@fault("worker.lease.23", control="cursor.poll_does_not_advance")
class ClaimsDieWithASession(WorkerBus):
    """A session that opens the store forgets all claims."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.db.write("DELETE FROM task_claims")


@fault(
    "worker.lease.03", "worker.lease.21", "worker.lease.22", "worker.lease.25", control="cursor.poll_does_not_advance"
)
def claims_everything():
    """Every claim is granted."""
    patch(lease, may_take=lambda claim, now_ms: True)


@fault("worker.lease.26", "worker.log.66", chaos={"holds": True, "only": "try_claim_task"})
class ClaimsInTwoSteps(WorkerBus):
    """Look, then take, in two transactions: two agents may both find the task free."""

    # Nothing is between the two but a moment.

    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        now_ms = self.store.clock.now_ms()
        held = self.db.row("SELECT lease_until_ms FROM task_claims WHERE task_id = ?", (task_id,))
        if held is not None and held[0] > now_ms:
            return {"claimed": False}
        until_ms = now_ms + self.store.lease_ms
        self.db.write("INSERT OR REPLACE INTO task_claims VALUES (?, ?, ?, ?)", (task_id, agent_id, now_ms, until_ms))
        return {"claimed": True, "lease_until_ms": until_ms}


@fault("worker.lease.01", control="lease.renew_after_retake", item="corpus:options")
class ClaimsNothing(WorkerBus):
    """Every claim is answered with false."""

    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        return {"claimed": False}


@fault("worker.lease.16")
class FaultsAreContention(WorkerBus):
    """Any fault of the store reads as: someone else has it (W8)."""

    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        try:
            return super().try_claim_task(task_id, agent_id)
        except (BusError, sqlite3.Error):
            return {"claimed": False}


@fault("worker.lease.11", item="corpus:06056")
def late_renewal_is_refused():
    """A renewal after the lease's end is refused though nobody took the task (W9)."""
    from refbus.worker import lease

    class Faulty(WorkerBus):
        def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
            lease._check_names(task_id, agent_id, token)
            with self.store.snapshot() as tx:
                claim = self.claims.claim(tx, task_id)
            if claim is None or claim.lease_until_ms <= tx.now_ms:
                return {"renewed": False}
            return super().renew_claim(task_id, agent_id, token)

    return Faulty


@fault("worker.lease.06")
def lease_ends_early():
    """A lease is over one millisecond before its end."""
    patch(lease, is_live=lambda claim, now_ms: claim.lease_until_ms > now_ms + 1)


@fault("worker.lease.07")
def lease_ends_late():
    """A lease whose end is now is still held."""
    patch(lease, is_live=lambda claim, now_ms: claim.lease_until_ms >= now_ms)


@fault("worker.lease.02", "worker.lease.24", item="corpus:options+06020")
class LeaseOfThirtySeconds(WorkerBus):
    """A lease lasts 30 seconds."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.store.lease_ms = 30_000


@fault("worker.lease.05", item="corpus:06106")
def leases_never_expire():
    """A dead holder keeps its task for ever."""
    patch(lease, may_take=lambda claim, now_ms: claim is None)


@fault("worker.lease.05", item="corpus:06086")
def never_shortened():
    """After a clock was set back, a renewal leaves the later end."""
    from refbus.worker import lease

    _renew = lease.Claims.renew_claim

    def renew(self: lease.Claims, task_id: str, agent_id: str, token: int | None = None) -> Any:
        with self._store.snapshot() as tx:
            before = self.claim(tx, task_id)
        reply = _renew(self, task_id, agent_id, token)
        if reply["renewed"] and before.lease_until_ms > reply["lease_until_ms"]:
            self._store.db.write("UPDATE task_claims SET lease_until_ms = ?", (before.lease_until_ms,))
        return reply

    patch(lease.Claims, renew_claim=renew)


@fault("worker.lease.15")
class ReleaseFreesAll(WorkerBus):
    """A release frees every task of its agent."""

    def release_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        self.db.write("DELETE FROM task_claims WHERE claimed_by = ?", (agent_id,))
        return {"released": True}


@fault("worker.lease.13", item="corpus:06106")
class ReleaseIsForgotten(WorkerBus):
    """A release is answered and frees nothing."""

    def release_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        return {"released": True}


@fault("worker.lease.08", item="corpus:06064")
class RenewalChangesNothing(WorkerBus):
    """A renewal is answered and does not extend the lease."""

    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        with self.store.snapshot() as tx:
            return {"renewed": lease.may_keep(self.claims.claim(tx, task_id), agent_id, token)}


@fault("worker.lease.09", item="corpus:06064")
class RenewalsAddUp(WorkerBus):
    """A renewal adds sixty seconds to the old end of the lease."""

    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        with self.store.snapshot() as tx:
            if not lease.may_keep(self.claims.claim(tx, task_id), agent_id, token):
                return {"renewed": False}
        sql = "UPDATE task_claims SET lease_until_ms = lease_until_ms + ? WHERE task_id = ?"
        self.db.write(sql, (self.store.lease_ms, task_id))
        return {"renewed": True}


@fault("worker.lease.26", "worker.log.66", chaos={"holds": True, "only": "renew_claim"})
class RenewsUnseen(WorkerBus):
    """A renewal looks whose lease it is, then writes it back whole: a lease that was taken meanwhile is taken back."""

    # Look, then write.

    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        held = self.db.row("SELECT claimed_by FROM task_claims WHERE task_id = ?", (task_id,))
        if held is None or held[0] != agent_id:
            return {"renewed": False}
        until_ms = self.store.clock.now_ms() + self.store.lease_ms
        claim = (agent_id, until_ms, task_id)
        self.db.write("UPDATE task_claims SET claimed_by = ?, lease_until_ms = ? WHERE task_id = ?", claim)
        return {"renewed": True, "lease_until_ms": until_ms}


@fault("worker.lease.17", "worker.lease.20")
def token_stands_still():
    """Every grant has the same fencing token."""
    patch(lease, next_token=lambda latest: 1)


@fault("worker.lease.18", item="corpus:06076")
class TokenZeroIsNone(WorkerBus):
    """A token of 0 is taken for no token."""

    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> Any:
        return super().renew_claim(task_id, agent_id, token or None)


@fault("worker.lease.18", "worker.lease.19", item="corpus:06076+06112")
def tokens_are_not_checked():
    """A holder may renew and release with a token of an earlier grant."""
    patch(lease, may_keep=lambda claim, agent, token: claim is not None and claim.claimed_by == agent)


@fault("worker.lease.26", "worker.log.66", chaos={"holds": True, "only": "release_claim"})
class TokensFromTheClock(WorkerBus):
    """A fencing token is the time. An agent whose clock is behind gets one that is lower than the last."""

    # Milliseconds, so they rise.

    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        reply = super().try_claim_task(task_id=task_id, agent_id=agent_id)
        if reply["claimed"]:
            reply["token"] = self.store.clock.now_ms()
            self.db.write("UPDATE task_tokens SET token = ? WHERE task_id = ?", (reply["token"], task_id))
        return reply
