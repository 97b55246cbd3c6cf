"""Choices of worker where its seed is silent: nobody may blame them."""

from typing import Any

from plant import fault

from refbus.kernel.errors import InvalidArgument
from refbus.worker import lease
from refbus.worker.bus import WorkerBus


@fault()
class ClaimsAreReEntrant(WorkerBus):
    """A holder's second claim is granted: the same token, the lease begun anew (W9)."""

    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        lease._check_names(task_id, agent_id)
        with self.store.transaction() as tx:
            claim = self.claims.claim(tx, task_id)
            if claim is not None and claim.claimed_by == agent_id and tx.now_ms < claim.lease_until_ms:
                until_ms = tx.now_ms + self.store.lease_ms
                tx.execute("UPDATE task_claims SET lease_until_ms = ? WHERE task_id = ?", (until_ms, task_id))
                return {"claimed": True, "token": claim.token, "lease_until_ms": until_ms}
        return super().try_claim_task(task_id, agent_id)


@fault()
class EndedLeasesAreNobodys(WorkerBus):
    """A holder whose lease is over can neither renew nor release it (W9)."""

    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        return (
            {"renewed": False}
            if self._is_over(task_id, agent_id, token)
            else super().renew_claim(task_id, agent_id, token)
        )

    def release_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        return (
            {"released": False}
            if self._is_over(task_id, agent_id, token)
            else super().release_claim(task_id, agent_id, token)
        )

    def _is_over(self, task_id: str, agent_id: str, token: int | None) -> bool:
        lease._check_names(task_id, agent_id, token)
        with self.store.transaction() as tx:
            claim = self.claims.claim(tx, task_id)
            return claim is not None and claim.lease_until_ms <= tx.now_ms


@fault()
def numbers_have_gaps():
    """Every publish leaves a gap behind it: seqs rise by three (W14)."""
    SKIP = "UPDATE sqlite_sequence SET seq = seq + 2 WHERE name = 'messages'"

    class Choice(WorkerBus):
        def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
            with self.store.transaction() as tx:
                tx.execute(SKIP)
            return super().publish(agent_id, message)

    return Choice


@fault()
def refuses_what_is_free():
    """A limit of 0 or above 2^31 - 1, and a whole number beyond 64 bits in a payload, are refused, always."""

    def check_limit(limit: Any) -> None:
        if type(limit) is int and (limit == 0 or limit > 2**31 - 1):
            raise InvalidArgument("limit must be from 1 to 2147483647")

    def check_numbers(value: Any) -> None:
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise InvalidArgument("a number of the payload has more than 64 bits")
        for member in value.values() if type(value) is dict else value if type(value) is list else ():
            check_numbers(member)

    class Choice(WorkerBus):
        def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
            check_numbers(message.get("payload") if type(message) is dict else None)
            return super().publish(agent_id, message)

        def publish_many(self, agent_id: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
            for message in messages if type(messages) is list else ():
                check_numbers(message.get("payload") if type(message) is dict else None)
            return super().publish_many(agent_id, messages)

        def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> dict[str, Any]:
            check_limit(limit)
            return super().poll(agent_id, limit, wait_ms)

        def search(self, query: str, limit: int = 100) -> dict[str, Any]:
            check_limit(limit)
            return super().search(query, limit)

        def status(self, limit: int = 100) -> dict[str, Any]:
            check_limit(limit)
            return super().status(limit)

        def process_loop(self, agent_id: str, limit: int = 100, fail_ids: Any = ()) -> dict[str, Any]:
            check_limit(limit)
            return super().process_loop(agent_id, limit, fail_ids)

    return Choice
