"""Faults of comms, retry."""

import uuid
from typing import Any

from plant import fault, in_two_steps, patch, wrap

from refbus.comms import bus, retry
from refbus.comms.bus import CommsBus
from refbus.comms.lease import Leases
from refbus.comms.log import Log
from refbus.comms.retry import Retries
from refbus.comms.store import Store
from refbus.kernel.errors import RateLimited
from refbus.kernel.rules import delivery
from refbus.kernel.rules import limit as limits
from refbus.kernel.transaction import Transaction

CONTROL = "retry.comes_back"


@fault("comms.retry.17")
def a_broadcast_is_buried_for_all():
    """One agent's dead letter takes a broadcast from the others."""

    class Faulty(Leases):
        def bury(self, tx: Any, message_id: str, *args: Any) -> None:
            super().bury(tx, message_id, *args)
            tx.execute("DELETE FROM messages WHERE id = ?", (message_id,))

    patch(bus, Leases=Faulty)


@fault("comms.retry.19")
def a_death_is_a_failure():
    """A claim that timed out counts as a failure."""
    claimed = delivery.claimed
    patch(delivery, claimed=lambda before, *args: claimed(before, *args)._replace(failures=before.delivery_count))


@fault("comms.retry.14", item="corpus:what_costs_no_token")
def a_letter_stays_in_the_queue():
    """A dead letter that was redriven is still a dead letter; it is redriven again once its agent is done with it."""

    class Faulty(Retries):
        def redrive(self, id: str) -> Any:
            limits.text("id", id)
            with self.store.transaction() as tx:
                row = tx.row("SELECT original_message FROM dead_letter_queue WHERE id = ?", (id,))
                if row is None:
                    return {"redriven": False}
                message = retry._whole(row[0])
                agent_id = message["to_agent"] or retry._agent_of(id, message["id"])
                own = (message["id"], agent_id)
                dead = tx.row(
                    "SELECT 1 FROM message_deliveries WHERE (message_id, agent_id, status) = (?, ?, 'dead')", own
                )
                if dead is None and tx.row("SELECT 1 FROM messages WHERE id = ?", own[:1]) is not None:
                    return {"redriven": False}
                tx.execute("DELETE FROM message_deliveries WHERE message_id = ? AND agent_id = ?", own)
                self.log.remove_expired(tx, message["id"])
                self.put_back(tx, message, agent_id)
                self.audit.record(tx, "redriven", agent_id, message["id"])
            return {"redriven": True}

    patch(bus, Retries=Faulty)


@fault("comms.retry.20")
class ARetryIsAnotherMessage(CommsBus):
    """Every attempt is a message of its own."""

    def send_with_retry(self, max_attempts: int = 3, base_delay: float = 1.0, **message_args: Any) -> dict[str, Any]:
        for _ in range(max_attempts):
            reply = self.send_message(**message_args)
        return reply


@fault("comms.retry.28")
def a_retry_knows_no_null():
    """send_with_retry takes null for "not given", so a message that is to live for ever gets the usual time."""

    class Faulty(Retries):
        def send_with_retry(self, /, max_attempts: int = 3, base_delay: float = 1.0, **message_args: Any) -> Any:
            given = {name: value for name, value in message_args.items() if value is not None}
            return super().send_with_retry(max_attempts, base_delay, **given)

    patch(bus, Retries=Faulty)


@fault("comms.retry.22")
class ARetrySwallowsItsError(CommsBus):
    """Nobody hears of the last attempt's error."""

    def send_with_retry(self, **kwargs: Any) -> dict[str, Any]:
        try:
            return super().send_with_retry(**kwargs)
        except RateLimited:
            return {"message_id": ""}


@fault("comms.retry.18")
class BroadcastsAreNotRedriven(CommsBus):
    """The dead letter of a broadcast cannot be redriven."""

    def redrive(self, id: str) -> dict[str, Any]:
        limits.text("id", id)
        return {"redriven": False} if ":" in id else super().redrive(id)


@fault("comms.retry.07", "comms.retry.16", "comms.retry.27")
def buried_at_the_fourth_failure():
    """Three failures are not enough."""
    patch(delivery, FAILURES_MAX=4)


@fault("comms.retry.07", "comms.retry.27")
def buried_at_the_second_failure():
    """Two failures make a dead letter."""
    patch(delivery, FAILURES_MAX=2)


@fault("comms.retry.04", control="log.envelope")
class ClaimsAreNotCounted(CommsBus):
    """A claim does not raise delivery_count (C1)."""

    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        reply = super().claim_message(agent_id, message_id)
        self.store.db.write("UPDATE messages SET delivery_count = 0 WHERE id = ?", (message_id,))
        return reply


@fault("comms.retry.08", "comms.retry.12")
def dead_letters_walk():
    """A dead letter is still a message."""

    class Faulty(Leases):
        def bury(self, tx: Any, message_id: str, *args: Any) -> None:
            row = tx.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
            super().bury(tx, message_id, *args)
            tx.execute("DELETE FROM messages WHERE id = ?", (message_id,))
            tx.execute(f"INSERT INTO messages VALUES ({', '.join('?' * len(row))})", row)
            tx.execute("UPDATE messages SET status = 'pending' WHERE id = ?", (message_id,))

    patch(bus, Leases=Faulty)


@fault("comms.retry.01", control="log.envelope")
class ErrorsAreNotKept(CommsBus):
    """The text of an error is lost."""

    def complete_message(self, message_id: str, error: Any = None, **more: Any) -> dict[str, Any]:
        reply = super().complete_message(message_id, error, **more)
        self.store.db.write("UPDATE messages SET error = NULL WHERE id = ?", (message_id,))
        return reply


@fault("comms.retry.18")
def expired_broadcasts_are_not_redriven():
    """The letter of a broadcast that has expired is taken away, and nobody gets it."""

    class Forgetful(Log):
        def remove_expired(self, tx: Any, only: str | None = None) -> int:
            return 0 if only else super().remove_expired(tx)

    class Faulty(Retries):
        def put_back(self, tx: Any, message: Any, agent_id: Any) -> None:
            if tx.row("SELECT 1 FROM messages WHERE id = ?", (message["id"],)) is None:
                super().put_back(tx, message, agent_id)

    bus.Log, bus.Retries = Forgetful, Faulty


@fault("comms.retry.18")
def expired_broadcasts_live_again():
    """A broadcast that has expired lives again for all when one agent gets it back."""

    wrap(Log, remove_expired=lambda whole, self, tx, only=None: 0 if only else whole(self, tx))


@fault("comms.retry.02", control="retry.send_with_retry")
def failed_stays_failed():
    """A failed message never comes back (C1)."""

    class Faulty(Store):
        def jitter(self) -> float:
            return 10.0**6

    patch(bus, Store=Faulty)


@fault("comms.retry.23")
class FiveAttempts(CommsBus):
    """By default a send is tried five times."""

    def retry_delays(self, max_attempts: int = 5, base_delay: float = 1.0, jitter: float = 1.0) -> dict[str, Any]:
        return super().retry_delays(max_attempts, base_delay, jitter)


@fault("comms.retry.24")
class HalfASecond(CommsBus):
    """By default the first pause is half a second."""

    def retry_delays(self, max_attempts: int = 3, base_delay: float = 0.5, jitter: float = 1.0) -> dict[str, Any]:
        return super().retry_delays(max_attempts, base_delay, jitter)


@fault("comms.retry.11")
def letters_count_nothing():
    """A dead letter does not say how often it was tried."""

    class Faulty(Leases):
        def bury(self, tx: Any, message_id: str, *args: Any) -> None:
            super().bury(tx, message_id, *args)
            tx.execute("UPDATE dead_letter_queue SET retry_count = 0")

    patch(bus, Leases=Faulty)


@fault("comms.retry.09")
def letters_have_ids_of_their_own():
    """A dead letter has another id than its message."""

    class Faulty(Leases):
        def bury(self, tx: Any, message_id: str, *args: Any) -> None:
            super().bury(tx, message_id, *args)
            tx.execute("UPDATE dead_letter_queue SET id = 'letter-' || id")

    patch(bus, Leases=Faulty)


@fault("comms.retry.10", "comms.retry.12")
def letters_hold_the_payload():
    """A dead letter keeps the payload alone."""

    class Faulty(Leases):
        def bury(self, tx: Any, message_id: str, *args: Any) -> None:
            super().bury(tx, message_id, *args)
            tx.execute("UPDATE dead_letter_queue SET original_message = original_message -> '$.payload'")

    patch(bus, Leases=Faulty)


@fault("comms.retry.26")
def no_jitter():
    """The pauses are not spread."""
    from refbus.kernel.rules import retry

    send_delay_s = retry.send_delay_s
    patch(retry, send_delay_s=lambda attempt, base_s, jitter: send_delay_s(attempt, base_s, 1.0))


@fault("comms.retry.03", "comms.retry.06", control="retry.third_failure")
def no_retry_delay():
    """A failed message is due again at once."""
    failed = delivery.failed
    patch(delivery, failed=lambda before, now_us, jitter: failed(before, now_us, 0.0))


@fault("comms.retry.05", control="log.envelope")
class OnceFailedAlwaysFailed(CommsBus):
    """A message that failed once is failed when it is done."""

    def complete_message(self, message_id: str, error: Any = None, **more: Any) -> dict[str, Any]:
        row = self.store.db.row("SELECT error FROM messages WHERE id = ?", (message_id,))
        return super().complete_message(message_id, error or (row and row[0]), **more)


@fault("comms.retry.18", item="corpus:letters_of_a_gone_broadcast")
def one_letter_of_a_gone_broadcast():
    """A broadcast that is gone comes back for one letter: its row stays once that agent is done, and bars all
    others.
    """

    def make_way(tx: Transaction, message_id: str, agent_id: str | None) -> bool:
        present = tx.row("SELECT to_agent FROM messages WHERE id = ?", (message_id,))
        return present is None or present[0] in (None, agent_id)

    patch(retry, _make_way=make_way)


@fault("comms.retry.25")
def pauses_of_one_length():
    """The pauses do not grow."""
    from refbus.kernel.rules import retry

    patch(retry, send_delay_s=lambda attempt, base_s, jitter: base_s * jitter)


@fault("comms.retry.29")
def puts_back_afterwards():
    """A redriven message leaves the dead letters, and is a message again a moment later: meanwhile it is nowhere."""
    put_back = Retries.put_back
    late: list[Any] = []

    def later(self: Retries, _tx: Any, *args: Any, **how: Any) -> None:
        late.append((self, args, how))

    class Faulty(CommsBus):
        def redrive(self, *args: Any, **how: Any) -> Any:
            reply = super().redrive(*args, **how)
            with self.store.transaction() as tx:
                while late:
                    noun, positional, named = late.pop()
                    put_back(noun, tx, *positional, **named)
            return reply

    patch(Retries, put_back=later)
    return Faulty


@fault("comms.retry.13", item="corpus:letters_and_time")
def redrive_forgets_the_envelope():
    """A redriven message has priority 5 and is nobody's answer."""

    wrap(
        Retries,
        put_back=lambda whole, self, tx, message, agent_id: whole(
            self, tx, {**message, "priority": 5, "correlation_id": None}, agent_id
        ),
    )


@fault("comms.retry.15", item="corpus:nested_payloads")
def redrive_keeps_one_failure():
    """A redriven message has two attempts left."""

    class Faulty(Retries):
        def put_back(self, tx: Any, message: Any, agent_id: Any) -> None:
            super().put_back(tx, message, agent_id)
            tx.execute(
                "INSERT INTO message_deliveries VALUES (?, ?, 'pending', 0, 1, ?, NULL)",
                (message["id"], agent_id, self.store.now()),
            )

    patch(bus, Retries=Faulty)


@fault("comms.retry.13", item="corpus:nested_payloads")
def redrive_keeps_the_expiry():
    """A redriven message keeps its old expiry."""

    class Faulty(Retries):
        def put_back(self, tx: Any, message: Any, agent_id: Any) -> None:
            super().put_back(tx, message, agent_id)
            tx.execute("UPDATE messages SET expires_at = ? WHERE id = ?", (message["expires_at"], message["id"]))

    patch(bus, Retries=Faulty)


@fault("comms.retry.15", item="corpus:nested_payloads")
def redrive_keeps_the_failures():
    """A redriven message has one attempt left."""

    class Faulty(Retries):
        def put_back(self, tx: Any, message: Any, agent_id: Any) -> None:
            super().put_back(tx, message, agent_id)
            tx.execute(
                "INSERT INTO message_deliveries VALUES (?, ?, 'pending', 0, 2, ?, NULL)",
                (message["id"], agent_id, self.store.now()),
            )

    patch(bus, Retries=Faulty)


@fault("comms.retry.13", item="corpus:nested_payloads")
def redriven_for_ever():
    """A redriven message never expires."""

    wrap(
        Retries,
        put_back=lambda whole, self, tx, message, agent_id: whole(self, tx, {**message, "expires_at": None}, agent_id),
    )


@fault("comms.retry.18")
def redriven_to_everybody():
    """The dead letter of a broadcast comes back to all agents."""

    class Faulty(Retries):
        def put_back(self, tx: Any, message: Any, agent_id: Any) -> None:
            super().put_back(tx, message, agent_id)
            tx.execute("DELETE FROM message_deliveries WHERE message_id = ?", (message["id"],))

    patch(bus, Retries=Faulty)


@fault("comms.log.71", chaos={"points": True, "only": "redrive"})
def redrives_in_two_steps():
    """A dead letter leaves its queue, and comes back in a transaction of its own. A kill between loses it."""
    return in_two_steps(CommsBus, "redrive", Retries, "put_back")


@fault("comms.log.73", chaos={"disk_full": True, "only": "send_with_retry", "levels": (), "errors": ("EIO",)})
class RetriesUnderANewId(CommsBus):
    """Each attempt of send_with_retry has an id of its own. One whose answer was lost is sent twice."""

    # The first attempt has the caller's.

    def send_with_retry(self, max_attempts: int = 3, base_delay: float = 1.0, **message: Any) -> Any:
        try:
            return super().send_message(**message)
        except Exception:
            return super().send_message(**{**message, "message_id": str(uuid.uuid4())})


@fault("comms.retry.21", dies_of="no answer")
def retries_what_no_time_can_mend():
    """A bad argument is tried again."""
    patch(retry, NOT_RETRYABLE=())


@fault("comms.retry.27", author="public report, pulsar #6960")
class BuriesTwice(CommsBus):
    """A message that is dead is handed out once more, and another consumer buries it a second time."""

    def complete_message(self, *args: Any, **how: Any) -> Any:
        reply = super().complete_message(*args, **how)
        if reply["status"] == "dead":
            with self.store.transaction() as tx:
                tx.execute(
                    "INSERT INTO dead_letter_queue (id, original_message, error, moved_at, retry_count)"
                    " SELECT id || ':again', original_message, error, moved_at, retry_count + 1"
                    " FROM dead_letter_queue WHERE id NOT LIKE '%:again' AND id || ':again' NOT IN"
                    " (SELECT id FROM dead_letter_queue)"
                )
        return reply
