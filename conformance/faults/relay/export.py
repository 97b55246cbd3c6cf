"""Faults of relay, export."""

import datetime
import os

from plant import fault, patch, rewrite

from refbus.kernel.msgfile import Stat
from refbus.relay import archive, export, metrics, passes, process
from refbus.relay.archive import Archive
from refbus.relay.recovery import Recovery

CONTROL = "lease.lock"


@fault("relay.export.06", item="corpus:the_archive")
def a_day_too_few():
    """A day of exactly the retention goes."""
    rewrite(archive.Archive.rotate, "(date >= oldest and", "(date > oldest and")


@fault("relay.export.03", item="corpus:over_midnight")
def days_of_arrival():
    """The archive's day is the one on which a message was found, though it was processed on the next."""
    move, today = Archive.move, Archive._today

    def moved(self: Archive, agent: str, name: str, stat: Stat) -> bool:
        path = f"agents/{agent}/outbox/{name}"
        row = self._store.db.row("SELECT discovered_at FROM messages WHERE file_path = ?", (path,))
        if row is not None:
            day = datetime.datetime.fromtimestamp(row[0] / 1000, datetime.UTC).date()
            Archive._today = lambda _self: day
        try:
            return move(self, agent, name, stat)
        finally:
            Archive._today = today

    patch(Archive, move=moved)


@fault("relay.export.03", item="corpus:the_archive")
def days_of_discovery():
    """The archive's day is yesterday."""
    rewrite(
        archive.Archive._today,
        "return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date()",
        "return datetime.datetime.fromtimestamp(seconds - 86_400, datetime.UTC).date()",
    )


@fault("relay.export.03", item="corpus:the_archive")
def days_of_the_wall():
    """The archive's day follows local time."""
    patch(Archive, _today=lambda self: datetime.datetime.fromtimestamp(self._store.clock.now_ms() / 1000).date())


@fault("relay.export.02", item="corpus:the_archive")
def failures_stay():
    """Failed files stay in the outbox."""
    rewrite(passes.Passes._scan, "if self._store.config.archive:", "if not self._store.config.archive:")


@fault("relay.export.08")
def half_a_backup():
    """A backup has no rows."""
    rewrite(
        export.Export.backup,
        'copy.execute("PRAGMA journal_mode = DELETE")',
        'copy.execute("DELETE FROM messages")\n                    copy.commit()',
    )


@fault("relay.export.17")
def keeps_the_first_name():
    """What a restore notes of the inboxes does not replace what an earlier one noted: names begin again in the
    middle.
    """
    rewrite(export.Export.restore, "INSERT OR REPLACE INTO restored", "INSERT OR IGNORE INTO restored")


@fault("relay.export.05", item="corpus:the_archive")
def kept_for_ever():
    """The archive grows for ever."""
    rewrite(archive.Archive.rotate, "for date in self._dates():", "for date in ():")


@fault("relay.export.10")
def no_depth():
    """The depth of the queue is not told."""
    rewrite(metrics.Metrics.metrics, "depth.labels(status).set(count)", "depth.labels(status).set(0)")


@fault("relay.export.01", "relay.export.04", item="corpus:no_archive")
def nothing_is_archived():
    """Completed files stay in the outbox."""
    rewrite(process.Processing._put_away, "if not config.archive:", "if config.archive:")


@fault("relay.export.12", item="corpus:the_archive")
def only_outboxes_count():
    """status does not count delivered files."""
    rewrite(
        export.Export.status,
        "FROM messages GROUP BY status",
        "FROM messages WHERE direction = 'outbox' GROUP BY status",
    )


@fault("relay.export.09")
def restores_nothing():
    """A restore changes nothing, and forgets."""
    rewrite(
        export.Export.restore,
        "copy.backup(self._store.db.connection())",
        "self._store.db.connection().execute('DELETE FROM messages WHERE direction = "
        "\"outbox\"'.replace('\"', chr(39)))",
    )


@fault("relay.export.07", item="corpus:the_archive")
def the_copy_is_archived():
    """An archived file has lost its last byte."""

    def shorten(name: str, folder: int) -> None:
        """By a byte."""
        with open(name, "r+b", opener=lambda path, flags: os.open(path, flags, dir_fd=folder)) as file:
            file.truncate(max(0, os.fstat(file.fileno()).st_size - 1))

    vars(archive)["shorten"] = shorten
    rewrite(archive.Archive._moved, "os.chmod(kept, FILE_MODE, dir_fd=fd)", "shorten(kept, fd)")


@fault("relay.export.04", item="corpus:an_archive_that_comes_and_goes")
def what_was_left_stays():
    """Files that an orchestrator without an archive left in the outboxes stay there."""
    patch(Recovery, archive_the_rest=lambda self: None)
