"""Faults of mailbox, jobs."""

from __future__ import annotations

import time
from typing import Any

from plant import fault, rewrite

from refbus.mailbox.bus import MailboxBus, promising

CONTROL = "log.body_limit"


@fault("mailbox.jobs.01")
def a_job_is_cut():
    """A job is handed out without the end of its body."""
    rewrite(MailboxBus.take, '"body": body', '"body": body[:2]')


@fault("mailbox.jobs.01", item="history")
def every_ninth_job_waits_for_ever():
    """One job in nine is put and never handed out."""
    rewrite(MailboxBus.take, "NOT done AND", "NOT done AND n % 9 != 8 AND")


@fault("mailbox.jobs.02")
def a_job_for_two():
    """A job that somebody has is handed out."""
    rewrite(MailboxBus.take, "AND until_ms <= ?", "AND coalesce(?, 0) >= 0")


@fault("mailbox.jobs.09")
class LooksThenTakesAJob(promising("jobs", "body_chars_max=9000")):  # type: ignore[misc]
    """A take looks for a job, and takes it a moment later."""

    def take(self, agent_id: str, queue: str, visible_ms: int) -> dict[str, Any]:
        find = "SELECT id, body FROM jobs WHERE queue = ? AND NOT done AND until_ms <= ? ORDER BY n LIMIT 1"
        with self.store.snapshot() as tx:
            row = tx.row(find, (queue, tx.now_ms))
        if row is None:
            return {"job": None}
        time.sleep(0.005)
        with self.store.transaction() as tx:
            change = "UPDATE jobs SET taker = ?, until_ms = ?, taken = 1 WHERE id = ?"
            tx.execute(change, (agent_id, tx.now_ms + visible_ms, row[0]))
        return {"job": {"id": row[0], "body": row[1], "receipt": f"{row[0]}:1"}}


@fault("mailbox.jobs.03")
def done_is_given_back():
    """A job that is done comes again."""
    rewrite(MailboxBus.done, '"done = 1"', '"until_ms = 0"')


@fault("mailbox.jobs.04")
def a_job_is_never_handed_out_again():
    """A job whose time is over stays away."""
    rewrite(MailboxBus.take, "AND until_ms <= ?", "AND until_ms = min(0, ?)")


@fault("mailbox.jobs.05")
def the_first_attempt_each_time():
    """A job says that it is handed out for the first time."""
    rewrite(MailboxBus.take, '"attempt": taken + 1', '"attempt": 1')


@fault("mailbox.jobs.06")
def back_is_done():
    """A job that was given back is gone."""
    rewrite(MailboxBus.back, '"until_ms = 0"', '"done = 1"')


@fault("mailbox.jobs.07")
def dead_jobs_are_handed_out():
    """A job is handed out however often it was."""
    rewrite(MailboxBus.take, "AND taken < ?", "AND taken < ? + 99")
    return promising("jobs", "redelivery", "back", "dead_letter", "attempts_max=2", "body_chars_max=9000")


@fault("mailbox.jobs.08")
def the_newest_job_first():
    """The job that was put last is handed out first."""
    rewrite(MailboxBus.take, "ORDER BY n", "ORDER BY n DESC")


@fault("mailbox.jobs.07", item="corpus:a_job_dies_with_its_last_worker", author="public report, graphile-worker #254")
def a_job_is_lost_with_its_last_worker():
    """A job whose worker dies in the last attempt is neither handed out again nor dead."""
    rewrite(MailboxBus.dead, "until_ms <= ? AND", "until_ms = min(0, ?) AND")
