"""Faults of comms, limit."""

import os
from typing import Any

from plant import fault, patch, wrap

from refbus.comms import bus
from refbus.comms.bus import CommsBus
from refbus.comms.limit import RateLimit
from refbus.kernel.errors import NotFound, RateLimited
from refbus.kernel.rules import breaker, bucket

CONTROL = "limit.bucket"


@fault("comms.limit.06")
def a_bucket_a_process():
    """Each process of an agent has a bucket of its own."""

    wrap(RateLimit, pay=lambda whole, self, tx, agent_id: whole(self, tx, f"{agent_id} in {os.getpid()}"))


@fault("comms.limit.07", item="corpus:the_bucket")
def a_clock_set_back_fills():
    """A bucket refills by the time that its clock is set back."""
    patch(
        bucket,
        refilled=lambda held, now_us, capacity, refill_per_s: bucket.Bucket(
            min(capacity, held.tokens + abs(now_us - held.at_us) / 1_000_000 * refill_per_s), now_us
        ),
    )


@fault("comms.limit.14")
def a_failed_probe_is_forgiven():
    """A probe that fails leaves the breaker half-open."""
    failed = breaker.failed
    patch(breaker, failed=lambda state, now_ms, **more: state if state.state == "half_open" else failed(state, now_ms))


@fault("comms.limit.01", control="limit.breaker")
class AThousandAtOnce(CommsBus):
    """A bucket holds a thousand tokens."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"rate_capacity": 1000.0, **kwargs})


@fault("comms.limit.17", dies_of="ended before")
class DiesOfABigPayload(CommsBus):
    """Ten megabytes end the process."""

    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if len(str(kwargs.get("payload"))) > 5_000_000:
            os._exit(1)
        return super().send_message(*args, **kwargs)


@fault("comms.limit.13")
def half_open_is_open_to_all():
    """Half-open lets any number through (C8)."""
    admit = breaker.admit
    patch(
        breaker,
        admit=lambda state, now_ms, **more: (state, True) if state.state == "half_open" else admit(state, now_ms),
    )


@fault("comms.limit.09")
def never_opens():
    """No failure opens the breaker."""
    failed = breaker.failed
    patch(breaker, failed=lambda state, now_ms, **more: failed(state, now_ms, threshold=10**9))


@fault("comms.limit.03", control="limit.each_agent")
class OneASecond(CommsBus):
    """A bucket refills by one a second."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"rate_refill_per_s": 1.0, **kwargs})


@fault("comms.limit.05")
def one_bucket_for_all():
    """All agents share one bucket."""

    wrap(RateLimit, pay=lambda whole, self, tx, agent_id: whole(self, tx, "everybody"))


@fault("comms.limit.10")
def open_for_half_a_minute():
    """The breaker tries again after thirty seconds."""
    admit = breaker.admit
    patch(breaker, admit=lambda state, now_ms, **more: admit(state, now_ms, timeout_ms=30_000))


@fault("comms.limit.08")
def opens_after_three():
    """Three failures open the breaker."""
    failed = breaker.failed
    patch(breaker, failed=lambda state, now_ms, **more: failed(state, now_ms, threshold=3))


@fault("comms.limit.02", control="limit.each_agent")
def refused_for_the_rate_and_sent():
    """A message that the bucket refuses is sent all the same."""

    class Paid(RateLimit):
        is_late = False

        def pay(self, tx: Any, agent_id: str) -> None:
            try:
                super().pay(tx, agent_id)
            except RateLimited:
                self.is_late = True

    patch(bus, RateLimit=Paid)

    class Faulty(bus.CommsBus):
        def send_message(self, *args: Any, **kwargs: Any) -> Any:
            self.rate.is_late = False
            reply = super().send_message(*args, **kwargs)
            if self.rate.is_late:
                raise RateLimited("too much")
            return reply

    return Faulty


@fault("comms.limit.11", "comms.limit.12")
def remembers_its_failures():
    """A probe that succeeds leaves the old failures counted (C8)."""
    patch(breaker, succeeded=lambda state: state._replace(state="closed"))


@fault("comms.limit.04", control="limit.each_agent")
def saved_for_ever():
    """Unused tokens are saved without end."""
    patch(
        bucket,
        refilled=lambda held, now_us, capacity, refill_per_s: bucket.Bucket(
            held.tokens + max(0, now_us - held.at_us) / 1_000_000 * refill_per_s, max(now_us, held.at_us)
        ),
    )


@fault("comms.limit.19")
class SaysNinePriorities(CommsBus):
    """hello tells 9 as the highest priority, and 10 is taken."""

    LIMITS = CommsBus.LIMITS | {"priority_max": 9}


@fault("comms.limit.20")
class LeavesADescriptorOfEachRefusal(CommsBus):
    """A claim of a message that is not there leaves a descriptor open."""

    def claim_message(self, agent_id: str, message_id: str) -> Any:
        reply = super().claim_message(agent_id, message_id)
        if not reply["claimed"]:
            os.open(self.store.path, os.O_RDONLY)
        return reply


@fault("comms.limit.16", item="limit.bucket")
class TakesTheTokenOfARefusal(CommsBus):
    """A vote for nothing is refused, and has cost a token."""

    def send_message(self, *args: Any, **how: Any) -> Any:
        try:
            return super().send_message(*args, **how)
        except NotFound:
            with self.store.transaction() as tx:
                RateLimit(self.store).pay(tx, how["from_agent"])
            raise
