"""Faults of relay, cursor."""

from typing import Any

from plant import fault, patch, rewrite

from refbus.kernel import msgfile
from refbus.relay import ledger, process, scan

CONTROL = "lease.lock"


@fault("relay.cursor.20", item="corpus:future")
def a_start_settles_all():
    """A file with a time in the future has settled for an orchestrator that just started."""
    rewrite(
        scan.Scanner._remember,
        "else (stat, self._monotonic_ns)",
        "else (stat, self._monotonic_ns if self._has_scanned or not self._knows_any() else -(10**18))",
    )
    scan.Scanner._has_scanned = False
    once = scan.Scanner.scan

    def and_remember(self: scan.Scanner, agents: Any) -> Any:
        scanned = once(self, agents)
        self._has_scanned = True
        return scanned

    patch(scan.Scanner, scan=and_remember)
    scan.Scanner._knows_any = lambda self: self._store.db.row("SELECT 1 FROM messages") is not None


@fault("relay.cursor.15", item="corpus:volume")
def a_thousand_are_enough():
    """A pass ends after a thousand messages; the others wait for the next one."""
    rewrite(process.Processing.process, "if not due:", "if not due or counts.completed >= 1_000:")


@fault("relay.cursor.11", "relay.cursor.12", "relay.cursor.13", item="corpus:changes")
def changes_are_not_seen():
    """A pending file that changed is not read again."""
    rewrite(
        scan.Scanner._sift,
        "elif not file.stat.is_as(row.stat) or file.path in self.doubtful:\n                judged",
        "elif row.stat.size < 0:\n                judged",
    )


@fault("relay.cursor.03", item="corpus:ages")
def empty_is_malformed_at_once():
    """An empty file is a failure at once."""
    rewrite(
        msgfile.judge,
        "return Wait(str(error)) if age < malformed_ms * 1_000_000",
        "return Wait(str(error)) if age < malformed_ms * 1_000_000 and data",
    )


@fault("relay.cursor.16", item="corpus:ages")
def empty_is_nothing():
    """An empty file that stays so is called malformed."""
    rewrite(msgfile.parse, 'raise FormatError("", "empty")', 'raise FormatError("it is empty")')


@fault("relay.cursor.10", item="corpus:ages")
def inserted_when_done():
    """A row comes into the ledger as processing."""
    rewrite(ledger.insert, '"failed" if entry.reason else "pending"', '"failed" if entry.reason else "processing"')


@fault("relay.cursor.08", "relay.cursor.17", item="corpus:ages")
def malformed_for_ever():
    """A file that cannot be parsed waits for ever."""
    rewrite(msgfile.judge, "if age < malformed_ms * 1_000_000", "if age < malformed_ms * 10**12 or age < 0")


@fault("relay.cursor.14", item="corpus:changes")
def names_may_come_again():
    """A name that was used is not noticed."""
    rewrite(
        scan.Scanner._sift,
        "if not file.stat.is_as(row.stat):\n                    news.refusals",
        "if row.stat.size < 0:\n                    news.refusals",
    )


@fault("relay.cursor.15", item="corpus:good_forms")
def one_at_a_time():
    """A pass processes one message."""
    rewrite(process.Processing.process, "last = due[-1].id", "due = due[:1]\n            last = 2**62")


@fault("relay.cursor.26", item="corpus")
def orphans_go_early():
    """A file that is 15 s old goes from .pending."""
    rewrite(
        scan.Scanner._pending,
        "if age_ns > self._store.config.orphan_ms * 1_000_000:",
        "if age_ns > self._store.config.orphan_ms * 500_000:",
    )


@fault("relay.cursor.25", item="corpus:ages")
def orphans_stay():
    """A file that nobody finishes stays in .pending."""
    rewrite(scan.Scanner._pending, "if age_ns > self._store.config.orphan_ms * 1_000_000:", "if age_ns < 0:")


@fault("relay.cursor.04", item="corpus:ages")
def settles_at_once():
    """A file is read while it may still be written."""
    rewrite(scan.Scanner._judged, "if age_ns < config.settle_ms * 1_000_000:", "if age_ns < 0:")
    judge = scan.msgfile.judge
    patch(scan.msgfile, judge=lambda *args, **options: judge(*args, **{**options, "settle_ms": 0}))


@fault("relay.cursor.05", item="corpus:ages")
def settles_late():
    """A file of exactly the settle time still waits."""
    rewrite(
        scan.Scanner._judged, "if age_ns < config.settle_ms * 1_000_000:", "if age_ns <= config.settle_ms * 1_000_000:"
    )


@fault("relay.cursor.02", item="corpus:no_archive")
def taken_twice():
    """A file that is known is taken for another one."""
    rewrite(
        scan.Scanner._sift,
        "if not file.stat.is_as(row.stat):\n                    news.refusals",
        'if not file.stat.is_as(row.stat) or row.status == "completed":\n                    news.refusals',
    )


@fault("relay.cursor.18", item="corpus:future")
def the_future_is_old():
    """A file with a time in the future has settled."""
    rewrite(msgfile.age_ns, "else unchanged_ns", "else 10**18")


@fault("relay.cursor.19", item="corpus:future")
def the_future_waits():
    """A file with a time in the future waits until it has come."""
    rewrite(msgfile.age_ns, "else unchanged_ns", "else 0")


@fault("relay.cursor.06", item="corpus:ages")
def twins_do_not_matter():
    """A file that is still being written under the same name is taken."""
    rewrite(scan.Scanner._judged, "if file.is_being_written:", "if file.is_being_written and not file.name:")


@fault("relay.cursor.07", item="corpus:ages")
def young_and_malformed():
    """A file that cannot be parsed fails at once."""
    rewrite(
        msgfile.judge,
        "return Wait(str(error)) if age < malformed_ms * 1_000_000",
        "return Wait(str(error)) if age < settle_ms * 1_000_000",
    )


@fault("relay.cursor.15", item="corpus:order.aged")
def ids_of_32_bits():
    """A pass looks for the rows after an id of 32 bits, and handles none of those beyond."""
    rewrite(ledger.due, "AND id > ? ", "AND id > ? AND id < 4294967296 ")
