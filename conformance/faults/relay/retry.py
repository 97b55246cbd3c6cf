"""Faults of relay, retry."""

from typing import Any

from plant import fault, patch, rewrite

from refbus.relay import failure, ledger, process
from refbus.relay.bus import RelayBus

CONTROL = "lease.lock"


@fault("relay.log.63", item="explore:states")
class ARestartForgetsTheAttempts(RelayBus):
    """The attempts at a message are counted by the orchestrator that makes them: the next one begins anew."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        with self.store.transaction() as tx:
            tx.execute("UPDATE messages SET retry_count = 0 WHERE status = 'pending'")


@fault("relay.retry.07", item="corpus:routes")
def denials_are_tried_again():
    """A bad request is tried again."""
    patch(failure, TRANSIENT=failure.TRANSIENT | {"bad_request"})


@fault("relay.retry.10", item="corpus:retries")
def errors_are_forgotten():
    """last_error is set when it is final."""
    rewrite(ledger.retry, "(row.retry_count + 1, error,", "(row.retry_count + 1, None,")


@fault("relay.retry.05", item="corpus:retries")
def late_by_a_millisecond():
    """An attempt is due a millisecond late."""
    rewrite(ledger.due, "min(retry_count - 1, 20)) <= ?", "min(retry_count - 1, 20)) < ?")


@fault("relay.retry.02", item="corpus:retries")
def never_given_up():
    """A message that cannot be delivered stays pending for ever."""
    rewrite(
        process.Processing._fail,
        "failure.is_transient and row.retry_count < self._store.config.retries_max",
        "failure.is_transient",
    )


@fault("relay.retry.09", item="corpus:retries")
def no_reason():
    """last_error is a sentence."""
    rewrite(ledger.fail, "(row.retry_count + 1, error,", "(row.retry_count + 1, 'failed because of ' + error,")


@fault("relay.retry.03", item="corpus:retries")
def one_try():
    """An unknown recipient fails a message at once."""
    rewrite(process.Processing._fail, "failure.is_transient and", "failure.is_transient and row.id < 0 and")


@fault("relay.retry.04", item="corpus:retries")
def pauses_of_one_length():
    """The pauses between attempts do not grow."""
    rewrite(ledger.due, "(? << min(retry_count - 1, 20))", "(? << 0)")


@fault("relay.retry.06", item="corpus:retries")
def tried_twice_delivered_twice():
    """A message that was tried again is delivered twice."""
    rewrite(
        process.Processing._copies,
        "for recipient in recipients]",
        "for recipient in [*recipients, *recipients[: row.retry_count]]]",
    )


@fault("relay.retry.01", item="corpus:retries")
def tries_are_not_counted():
    """retry_count stands still."""
    rewrite(
        ledger.retry,
        "(row.retry_count + 1, error, tx.now_ms, row.id)",
        "(min(1, row.retry_count + 1), error, tx.now_ms, row.id)",
    )


@fault("relay.retry.08", item="corpus:one_behind_a_crowd_that_waits", author="public report, opik #8137")
def looks_at_the_first_hundred_that_wait():
    """A pass looks at the oldest hundred that wait: while none of these is due, nothing behind them is handled."""
    rewrite(
        ledger.due,
        "FROM messages WHERE status",
        "FROM (SELECT * FROM messages WHERE status = 'pending' AND direction = 'outbox' ORDER BY id LIMIT 100) "
        "WHERE status",
    )
