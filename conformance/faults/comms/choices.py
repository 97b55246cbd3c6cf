"""Choices of comms where its seed is silent: nobody may blame them."""

import json
from typing import Any

from plant import fault, patch

from refbus.comms import bus, export, lease, log
from refbus.comms.bus import CommsBus
from refbus.comms.envelope import validate_message
from refbus.comms.lease import Leases
from refbus.comms.presence import Presence
from refbus.kernel.rules import delivery
from refbus.kernel.rules.delivery import Delivery


@fault()
class AnswersGoToGeneral(CommsBus):
    """An answer goes to the channel general, wherever the request was (C17)."""

    def send_response(
        self,
        original_message: Any,
        response_payload: Any,
        artifact_path: Any = None,
        agent_id: Any = None,
        message_id: Any = None,
    ) -> dict[str, Any]:
        if validate_message(original_message)[0]:
            original_message = {**original_message, "channel": "general"}
        return super().send_response(original_message, response_payload, artifact_path, agent_id, message_id)


@fault()
def delays_are_linear():
    """A message that failed n times is due again after n seconds, sharp (C1)."""
    failed = delivery.failed

    def linear(before: Delivery, now_us: int, jitter: float) -> Delivery:
        after = failed(before, now_us, jitter)
        return after if after.status == "dead" else after._replace(visible_at_us=now_us + after.failures * 1_000_000)

    delivery.failed = lease.delivery.failed = linear


@fault()
def messages_live_a_day():
    """A message that is given no time to live lives for a day, on every channel (C13)."""
    log.TTL_S = log.TTL_URGENT_S = 24 * 60 * 60


@fault()
def null_is_not_given():
    """ttl_seconds null is a time to live that is not given, as the seed's default has it (C13)."""
    live = log.time_to_live_s

    def time_to_live_s(channel: str, ttl_seconds: Any = log.UNSAID) -> int | None:
        return live(channel, log.UNSAID if ttl_seconds is None else ttl_seconds)

    patch(log, time_to_live_s=time_to_live_s)


@fault()
def the_dead_are_the_errors():
    """An error is a message that failed for good; each failure counts as processed, too (C12)."""

    class Counters(Presence):
        def count(self, tx: Any, agent_id: str, column: str, change: int) -> None:
            super().count(tx, agent_id, "messages_processed" if column == "error_count" else column, change)

    class Burials(Leases):
        def bury(self, tx: Any, message_id: str, agent_id: str, *how: Any) -> None:
            super().bury(tx, message_id, agent_id, *how)
            Presence.count(self.presence, tx, agent_id, "error_count", 1)

    bus.Presence, bus.Leases = Counters, Burials


@fault()
def the_trail_speaks_another_way():
    """A line of the audit trail has members of other names, and other words for the events."""

    def line(row: tuple[Any, ...]) -> str:
        seq, at, event, agent_id, message_id, details = row
        what = f"it was {event.replace('_', ' ')}"
        more = json.loads(details)
        members = {
            "audit_seq": seq,
            "when": at,
            "what": what,
            "who": agent_id,
            "which": message_id or more.pop("path", None),
        }
        return json.dumps({**members, "more": more}) + "\n"

    patch(export, _line=line)
