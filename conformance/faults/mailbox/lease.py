"""Faults of mailbox, lease."""

from __future__ import annotations

import time
from typing import Any

from plant import fault, patch, rewrite

from refbus.kernel.rules import lease
from refbus.mailbox.bus import MailboxBus, promising

CONTROL = "log.body_limit"


@fault("mailbox.lease.01", "mailbox.lease.07")
def anybody_may_take():
    """A name that somebody holds is granted."""
    patch(lease, may_take=lambda claim, now_ms: True)


@fault("mailbox.lease.07")
class LooksThenTakes(promising("lease", "body_chars_max=9000")):  # type: ignore[misc]
    """A claim looks whether the name is free, and takes it a moment later."""

    def claim(self, name: str, agent_id: str, ttl_ms: int) -> dict[str, Any]:
        with self.store.snapshot() as tx:
            if not lease.may_take(self._claim_of(tx, name), tx.now_ms):
                return {"granted": False}
        time.sleep(0.005)
        with self.store.transaction() as tx:
            until_ms = tx.now_ms + ttl_ms
            row = (name, agent_id, until_ms)
            tx.execute("INSERT OR REPLACE INTO claims (name, holder, until_ms, token) VALUES (?, ?, ?, 1)", row)
        return {"granted": True}


@fault("mailbox.lease.02")
def claims_never_end():
    """A claim holds for ever."""
    patch(lease, may_take=lambda claim, now_ms: claim is None or claim.lease_until_ms == 0)


@fault("mailbox.lease.03")
def anybody_may_release():
    """A release by another agent ends the claim."""
    rewrite(MailboxBus.release, "not lease.may_keep(held, agent_id, token)", "False")


@fault("mailbox.lease.04")
def a_released_name_stays_held():
    """A release is answered and changes nothing."""
    rewrite(MailboxBus.release, "until_ms = 0", "until_ms = until_ms")


@fault("mailbox.lease.05")
def a_renewal_changes_nothing():
    """A renewal is granted, and the claim ends when it would have ended."""
    rewrite(MailboxBus.renew, "SET until_ms = ? WHERE", "SET until_ms = min(until_ms, ?) WHERE")


@fault("mailbox.lease.06")
def tokens_stay():
    """Every grant has the same token."""
    patch(lease, next_token=lambda latest: 1)


@fault("mailbox.lease.06")
def a_release_looks_at_no_token():
    """With the token of an earlier grant, its holder releases the present one."""
    rewrite(MailboxBus.release, "lease.may_keep(held, agent_id, token)", "lease.may_keep(held, agent_id, None)")


@fault("mailbox.lease.06")
def a_renewal_looks_at_no_token():
    """With the token of an earlier grant, its holder renews the present one."""
    rewrite(MailboxBus.renew, "lease.may_keep(held, agent_id, token)", "lease.may_keep(held, agent_id, None)")


@fault("mailbox.lease.08")
def anybody_may_renew():
    """A renewal by another agent is granted."""
    rewrite(MailboxBus.renew, "not lease.may_keep(held, agent_id, token)", "False")


@fault("mailbox.lease.06", author="public report, Containarium #1318")
class CountsGrantsInItsMemory(MailboxBus):
    """The token of a grant comes from a counter of the process: after a restart an old token is good again."""

    def claim(self, name: str, agent_id: str, ttl_ms: int) -> dict[str, Any]:
        reply = super().claim(name, agent_id, ttl_ms)
        if reply["granted"]:
            self.__dict__["_grants"] = reply["token"] = self.__dict__.get("_grants", 0) + 1
            self.store.db.write("UPDATE claims SET token = ? WHERE name = ?", (reply["token"], name))
        return reply
