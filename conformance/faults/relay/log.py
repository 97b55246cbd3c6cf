"""Faults of relay, log."""

import contextlib
import hashlib
import inspect
import os
import zlib
from pathlib import Path
from typing import Any

from plant import fault, patch, reword, rewrite

from refbus.kernel import msgfile
from refbus.kernel.db import Database
from refbus.kernel.errors import Busy, DiskFull
from refbus.kernel.msgfile import Stat
from refbus.kernel.sight import Identity, Sight, identity
from refbus.relay import archive, deliver, ledger, passes, process, processes, scan, store, tree
from refbus.relay.archive import Archive
from refbus.relay.bus import RelayBus
from refbus.relay.deliver import Delivery
from refbus.relay.passes import Passes
from refbus.relay.recovery import Recovery

CONTROL = "lease.lock"


@fault("relay.log.67", chaos={"holds": True, "only": "scan"})
def a_cleared_inbox_passes_for_placed():
    """An inbox that is gone when a copy comes into it passes for copies placed before: its own and more are lost."""

    def place(self: Delivery, payload: dict[str, Any]) -> list[int]:
        try:
            with tree.folder(self._store.root, tree.TMP, payload["dir"]) as staged:
                return [
                    row
                    for number, recipient, name, row in payload["copies"]
                    if not move(self, number, staged, recipient, name)
                ]
        except FileNotFoundError:
            return []

    def move(self: Delivery, number: str, staged: int, recipient: str, name: str) -> bool:
        try:
            with tree.folder(self._store.root, tree.AGENTS, recipient, tree.INBOX, make=True) as inbox:
                os.rename(number, name, src_dir_fd=staged, dst_dir_fd=inbox)
        except NotADirectoryError:
            return False
        return True

    patch(Delivery, place=place)


@fault("relay.log.52", item="corpus:order")
def a_clock_set_back_is_not_told():
    """A clock that was set back leaves no record."""
    rewrite(
        passes.Passes._notice_clock,
        "if self._last_ms is not None and now_ms < self._last_ms:",
        "if self._last_ms is None and now_ms < 0:",
    )


@fault("relay.log.58", chaos={"points": True, "only": "scan"})
def a_copy_has_two_names():
    """A copy is linked into its inbox, and its staged name removed later: a copy that was read by then comes again."""

    def linked(self: Delivery, number: str, staged: int, recipient: str, name: str) -> bool:
        try:
            with tree.folder(self._store.root, tree.AGENTS, recipient, tree.INBOX, make=True) as inbox:
                os.link(number, name, src_dir_fd=staged, dst_dir_fd=inbox)
        except (FileNotFoundError, FileExistsError):
            return True
        except NotADirectoryError:
            return False
        return True

    patch(Delivery, _move=linked)


@fault("relay.log.56", "relay.retry.08", item="corpus:retries")
def a_mistake_of_one_stops_all():
    """A message that fails ends the pass for all behind it."""
    rewrite(
        process.Processing._handle,
        "                batch.failed.append((self._as_it_stands(row), failure))",
        "                batch.failed.append((self._as_it_stands(row), failure))\n"
        "                batch.held += rows[rows.index(row) + 1 :]\n"
        "                break",
    )


@fault("relay.log.18")
class ARollbackJournal(RelayBus):
    """The ledger is not in WAL mode."""

    def __init__(self, root: Any, **options: Any) -> None:
        super().__init__(root, **options)
        self.store.db.connection().execute("PRAGMA journal_mode = DELETE")


@fault("relay.log.31", "relay.lease.05")
def absolute_paths():
    """A row's path begins with a slash, and a file that was in hand when an orchestrator died is not found there."""
    rewrite(ledger.insert, "            entry.path,", '            "/" + entry.path,')


@fault("relay.log.13")
def agents_has_another_column():
    """Table agents is not the seed's."""
    reword(store, "SCHEMA.seed", "registered_at INTEGER NOT NULL", "registered_at TEXT NOT NULL")


@fault("relay.log.60", chaos={"disk_full": True, "only": "scan", "levels": (14, 17, 20), "errors": ()})
def an_error_ends_the_matter():
    """A pass that an error ended leaves no mark: the same process's next one takes up nothing that it had begun."""
    scan = Passes.scan

    def and_all_is_well(self: Passes) -> Any:
        try:
            return scan(self)
        finally:
            self._is_interrupted = False

    patch(Passes, scan=and_all_is_well)


@fault("relay.log.07", item="corpus:good_forms")
def archived_under_the_recipient():
    """The archive is sorted by day alone."""
    rewrite(archive.Archive._moved, "tree.ARCHIVE, date, agent, make=True", "tree.ARCHIVE, date, make=True")


@fault("relay.log.44", item="corpus:bad_forms")
def bad_bytes_are_replaced():
    """Bytes that are no UTF-8 are read as question marks."""
    rewrite(msgfile.parse, "text = data.decode()", 'text = data.decode(errors="replace")')


@fault("relay.log.45", item="corpus:bad_forms")
def big_priorities():
    """PRIORITY may have two digits."""
    rewrite(
        msgfile._header,
        "if name in _FORMATS and",
        'if name == "PRIORITY" and value == "10":\n        return name, "9"\n    if name in _FORMATS and',
    )


@fault("relay.log.39", item="corpus:good_forms")
def bodies_lose_their_blanks():
    """Blanks around a body are dropped."""
    rewrite(
        process.Processing._copies,
        "msgfile.format_copy(row.agent, row.message_id, data)",
        "msgfile.format_copy(row.agent, row.message_id, data).strip()",
    )


@fault("relay.log.37", item="corpus:bad_forms")
def checksums_are_not_compared():
    """CHECKSUM is not held against the body."""
    rewrite(msgfile.parse, "if message.checksum not in (None, checksum_of(body)):", "if message.checksum == body:")


@fault("relay.log.25", item="corpus:bad_forms")
def checksums_of_nothing():
    """A row's checksum is that of no bytes."""
    insert = ledger.insert
    patch(
        ledger,
        insert=lambda tx, entry: insert(tx, entry._replace(checksum=entry.checksum and hashlib.sha256().hexdigest())),
    )


@fault("relay.log.46", item="corpus:good_forms")
def checksums_of_the_file():
    """CHECKSUM is that of the whole file."""
    rewrite(msgfile.parse, "checksum_of(body)", "checksum_of(text)")


@fault("relay.log.20", item="corpus:good_forms")
def copies_are_outbox_rows():
    """A delivered file is a row of direction outbox."""
    rewrite(deliver.Delivery.record, "'inbox', ?", "'outbox', ?")


@fault("relay.log.21", item="corpus:good_forms")
def copies_lie_with_their_senders():
    """The path of a copy's row is one in an outbox."""
    rewrite(
        deliver.Delivery.record,
        'f"{tree.AGENTS}/{copy.recipient}/{tree.INBOX}/{name}"',
        'f"{tree.AGENTS}/{copy.recipient}/{tree.OUTBOX}/{name}"',
    )


@fault("relay.log.26", item="corpus:good_forms")
def done_is_called_done():
    """A message that is done has status done."""
    rewrite(ledger.complete, "SET status = 'completed'", "SET status = 'done'")


@fault("relay.log.60", chaos={"disk_full": True, "only": "scan", "levels": (0,)})
class DropsWhatFindsNoRoom(RelayBus):
    """A file that cannot be processed on a full disk is deleted, and the pass is told as done."""

    def scan(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().scan(*arguments, **options)
        except DiskFull:
            for path in Path(self.store.root).glob("**/outbox/*.msg"):
                path.unlink()
            return dict.fromkeys(("discovered", "completed", "failed", "retried", "refused"), 0)


@fault("relay.log.48", item="corpus:odd_things")
def everything_is_a_message():
    """Files that do not end in .msg are looked at."""
    rewrite(scan.Scanner._outbox, "if name.endswith(names.SUFFIX)", "if not name.startswith('.p')")


@fault("relay.log.58", chaos={"points": True, "only": "scan"})
def follows_an_inbox():
    """A copy is renamed by the path of its inbox: if that became a link after a crash, to the place it points to."""

    def by_path(self: Delivery, number: str, staged: int, recipient: str, name: str) -> bool:
        inbox = self._store.root / tree.AGENTS / recipient / tree.INBOX
        inbox.mkdir(0o700, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.rename(number, inbox / name, src_dir_fd=staged)
        return True

    patch(Delivery, _move=by_path)


@fault("relay.log.02")
class ForgetsItsLedger(RelayBus):
    """A fresh orchestrator begins with an empty ledger."""

    def __init__(self, root: Any, **options: Any) -> None:
        for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
            (Path(root) / name).unlink(missing_ok=True)
        super().__init__(root, **options)


@fault("relay.log.29", item="corpus:good_forms")
def found_when_it_was_written():
    """discovered_at is the file's time."""
    rewrite(
        ledger.insert,
        "            tx.now_ms,\n            tx.now_ms if",
        "            entry.stat.mtime_ns // 1_000_000,\n            tx.now_ms if",
    )


@fault("relay.log.54")
def ids_fall():
    """A file that is found later has a lower id."""
    WAS, IS = "INSERT INTO messages (message_id", "INSERT INTO messages (id, message_id"
    VALUES, LOWER = (
        "VALUES (?, ?, 'outbox'",
        "VALUES ((SELECT coalesce(min(id), 1000000) - 1 FROM messages), ?, ?, 'outbox'",
    )
    SOURCE = inspect.getsource(ledger.insert)
    assert WAS in SOURCE and VALUES in SOURCE
    rewrite(ledger.insert, WAS, IS, VALUES, LOWER)


@fault("relay.log.34", "relay.log.27", item="corpus:good_forms")
def kinds_are_acks():
    """A file without KIND is an ack."""
    rewrite(msgfile._message, 'headers.pop("KIND", "message")', 'headers.pop("KIND", "ack")')


@fault("relay.log.27", item="corpus:good_forms")
def kinds_are_shouted():
    """A row's message_type is in upper case."""
    insert = ledger.insert
    patch(ledger, insert=lambda tx, entry: insert(tx, entry._replace(kind=entry.kind and entry.kind.upper())))


@fault("relay.log.19", item="corpus:requests")
def lives_in_another_agent():
    """A row's agent is the file's recipient."""
    rewrite(
        ledger.insert,
        "            entry.agent,\n            entry.path,",
        "            entry.target or entry.agent,\n            entry.path,",
    )


@fault("relay.log.64", chaos={"damage": 1})
def looks_at_the_database_alone():
    """A removed ledger is noticed, a removed log beside it is not: rows of a pass are written where nobody looks."""

    def the_database(self: Sight) -> tuple[Identity | None, Identity | None]:
        return identity(self._paths[0]), None

    patch(Sight, _found=the_database)


@fault("relay.log.53", "relay.cursor.27")
class LosesOneInTwenty(RelayBus):
    """One delivered copy in twenty is gone, and the bus declares the least that it can."""

    NOUNS, FEATURES = ("log", "cursor", "route", "blob", "limit"), ()

    def scan(self) -> Any:
        done = super().scan()
        for path in Path(self.store.root).glob("agents/*/inbox/*"):
            if zlib.crc32(path.name.encode()) % 20 == 0:
                path.unlink()
        return done


@fault("relay.log.10")
def message_ids_may_stand_twice():
    """The ledger lacks a constraint or an index that keeps it sound or quick."""
    reword(store, "SCHEMA.seed", "message_id TEXT UNIQUE NOT NULL", "message_id TEXT NOT NULL")


@fault("relay.log.09")
def messages_has_another_column():
    """Table messages is not the seed's."""
    reword(store, "SCHEMA.seed", "retry_count INTEGER DEFAULT 0", "retry_count INTEGER DEFAULT 1")


@fault("relay.log.67", chaos={"holds": True, "only": "scan"})
def moves_what_has_the_name():
    """The file under a name is moved to the archive, though its agent has written other words since it was read."""
    _move = Archive.move

    def move(self: Archive, agent: str, name: str, stat: Stat) -> bool:
        with tree.folder(self._store.root, tree.AGENTS, agent, tree.OUTBOX) as outbox:
            try:
                now = tree.stat_of(tree.look(name, outbox))
            except OSError:
                now = stat
        return _move(self, agent, name, now)

    patch(Archive, move=move)


@fault("relay.log.58", chaos={"points": True, "only": "scan"})
def never_finishes_what_it_began():
    """A delivery that was begun when the orchestrator died is not finished by the next one."""
    patch(Recovery, _finish_operations=lambda _self: None)


@fault("relay.log.30", item="corpus:good_forms")
def never_processed():
    """processed_at is not set."""
    rewrite(ledger.complete, "processed_at = ? WHERE", "processed_at = nullif(?, 0) * NULL WHERE")


@fault("relay.log.59", chaos={"kills": 24})
def never_takes_up_again():
    """A message at which the orchestrator died stays in processing."""
    patch(Recovery, _finish_operations=lambda _self: None, _release_claims=lambda _self: None)


@fault("relay.log.01")
def no_attachments_folder():
    """Opening makes no folder for attachments."""
    make = tree.make

    def careless(root: Path) -> None:
        make(root)
        (root / "attachments").rmdir()

    patch(tree, make=careless)


@fault("relay.log.38", item="corpus:bad_forms")
def no_end_of_the_header():
    """A file that ends in its header is a message without a body."""
    rewrite(msgfile._split, 'raise FormatError("no empty line ends the header")', 'return headers, ""')


@fault("relay.log.16")
def no_index_on_agents():
    """The ledger lacks a constraint or an index that keeps it sound or quick."""
    reword(store, "SCHEMA.seed", "ON messages(agent_name, direction)", "ON messages(agent_name)")


@fault("relay.log.15")
def no_index_on_status():
    """The ledger lacks a constraint or an index that keeps it sound or quick."""
    reword(store, "SCHEMA.seed", "ON messages(status)", "ON messages(target)")


@fault("relay.log.17")
def no_index_on_time():
    """The ledger lacks a constraint or an index that keeps it sound or quick."""
    reword(store, "SCHEMA.seed", "ON messages(discovered_at)", "ON messages(processed_at)")


@fault("relay.log.24", item="corpus:bad_forms")
def no_inodes():
    """A row has no inode."""
    rewrite(ledger.insert, "            *entry.stat,", "            *entry.stat._replace(inode=1),")


@fault("relay.log.03")
def no_lock_file():
    """The lock is a file elsewhere."""
    patch(tree, LOCK=".orchestrator")


@fault("relay.log.33", item="corpus:bad_forms")
def no_recipient_needed():
    """A file without TO is a message to everybody."""
    rewrite(msgfile._message, 'if "TO" not in headers:', 'if headers.setdefault("TO", "*") == "":')


@fault("relay.log.53", "relay.cursor.27")
def one_message_in_three_is_lost():
    """A message whose number can be divided by three reaches nobody."""
    rewrite(process.Processing._copies, "return [Copy(", "return [] if row.id % 3 == 0 and row.id > 6 else [Copy(")


@fault("relay.log.04", "relay.cursor.01", item="corpus:good_forms")
def only_the_first_agent():
    """Only the first agent's outbox is looked at."""
    rewrite(scan.Scanner.scan, "for agent in agents for file", "for agent in list(agents)[:1] for file")


@fault("relay.log.12")
def orchestrator_state_has_another_column():
    """Table orchestrator_state is not the seed's."""
    reword(store, "SCHEMA.seed", "value TEXT", "value BLOB")


@fault("relay.log.50", item="corpus:order")
def order_by_file_name():
    """Messages are processed in the order of their files' names."""
    rewrite(
        process.Processing.process,
        "[row for row in due if row.id not in held]",
        "sorted((row for row in due if row.id not in held), key=lambda row: row.name)",
    )


@fault("relay.log.40", item="corpus:bad_forms")
def other_kinds_are_messages():
    """A KIND that nobody knows is a message."""
    rewrite(msgfile._header, "if name in _FORMATS and", "if name in _FORMATS and name != 'KIND' and")


@fault("relay.log.11")
def paths_may_stand_twice():
    """The ledger lacks a constraint or an index that keeps it sound or quick."""
    reword(store, "SCHEMA.seed", "last_error TEXT,\n    UNIQUE(file_path)", "last_error TEXT")


@fault("relay.log.06", "relay.cursor.26", item="corpus:ages")
def pending_is_outbox():
    """A file in .pending is taken, too."""
    rewrite(scan.Scanner._pending, "if age_ns > self._store.config.orphan_ms * 1_000_000:", "if age_ns > 1_000_000:")


@fault("relay.log.14")
def pending_operations_has_another_column():
    """Table pending_operations is not the seed's."""
    reword(store, "SCHEMA.seed", "payload TEXT NOT NULL", "payload TEXT")


@fault("relay.log.51", "relay.log.36", item="corpus:order")
def priority_is_ignored():
    """PRIORITY does not matter."""
    rewrite(
        scan.Scanner._write,
        "key=lambda new: (new[0], new[1].name, new[1].agent)",
        "key=lambda new: (new[1].name, new[1].agent)",
    )


@fault("relay.log.49", item="corpus:good_forms")
def processed_newest_first():
    """Due messages are processed in the opposite order."""
    rewrite(
        process.Processing.process,
        "[row for row in due if row.id not in held]",
        "[row for row in reversed(due) if row.id not in held]",
    )


@fault("relay.log.57")
class ReadersAreLockedOut(RelayBus):
    """A pass fails while somebody reads the ledger."""

    def scan(self) -> Any:
        done = super().scan()
        db = self.store.db.connection()
        db.execute("PRAGMA busy_timeout = 0")
        if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise Busy("somebody reads")
        return done


@fault("relay.route.16", "relay.log.42", item="corpus:bad_forms")
def senders_say_who_they_are():
    """A sender may write FROM."""
    rewrite(msgfile.parse, "for name in _OURS:", 'for name in ("ID",):')


@fault("relay.log.32", item="corpus:over_midnight")
def short_ids():
    """message_id is the uuid of the name alone."""
    rewrite(ledger.insert, "names.message_id(entry.agent, entry.name)", "names.uuid(entry.name)")


@fault("relay.log.22", item="corpus:bad_forms")
def sizes_are_rounded():
    """A row's size is one byte too large."""
    insert = ledger.insert
    patch(
        ledger, insert=lambda tx, entry: insert(tx, entry._replace(stat=entry.stat._replace(size=entry.stat.size + 1)))
    )


@fault("relay.log.41", item="corpus:bad_forms")
def small_letters_are_headers():
    """A header may be written small."""
    rewrite(
        msgfile._header,
        "match = _HEADER.fullmatch(line)",
        "match = _HEADER.fullmatch(line.partition(':')[0].upper() + ':' * (':' in line) + line.partition(':')[2])",
    )


@fault("relay.log.65", chaos={"power": 60})
class SyncsItsLedgerAlone(RelayBus):
    """Each commit is synced, and none of the folders that the ledger speaks of: copies and archived files may be
    gone.
    """

    def __init__(self, root: Any, **options: Any) -> None:
        super().__init__(root, **options)
        self.store.is_power_safe = False


@fault("relay.log.28", item="corpus:retries")
def targets_are_lower_case():
    """A row's target is in lower case."""
    insert = ledger.insert
    patch(ledger, insert=lambda tx, entry: insert(tx, entry._replace(target=entry.target and entry.target.lower())))


@fault("relay.log.42", item="corpus:bad_forms")
def the_last_header_counts():
    """A header that stands twice counts the second time."""
    rewrite(msgfile._split, "if name in headers:", "if name in headers and not name:")


@fault("relay.log.68")
def the_last_letter_is_lost():
    """A delivered copy lacks the last letter of its body."""
    rewrite(
        process.Processing._copies,
        "msgfile.format_copy(row.agent, row.message_id, data)",
        "msgfile.format_copy(row.agent, row.message_id, data)[:-1]",
    )


@fault("relay.log.35", item="corpus:good_forms")
def threads_are_dropped():
    """THREAD does not reach the recipient."""
    rewrite(
        process.Processing._copies,
        "msgfile.format_copy(row.agent, row.message_id, data)",
        'msgfile.format_copy(row.agent, row.message_id, data.replace(b"THREAD:", b"TOPIC:"))',
    )


@fault("relay.log.08")
def tickets_stay():
    """A spawn's file in tmp stays there, where no process could be started at all."""

    class Stays(type(Path())):
        """Such a file."""

        def unlink(self, missing_ok: bool = False) -> None:
            pass

    _started = processes.Started.__init__
    patch(
        processes.Started,
        __init__=lambda self, argv, *, ticket, **more: _started(self, argv, ticket=Stays(ticket), **more),
    )


@fault("relay.log.23", item="corpus:bad_forms")
def times_are_in_milliseconds():
    """A row's modification time has lost its nanoseconds."""
    insert = ledger.insert
    patch(
        ledger,
        insert=lambda tx, entry: insert(
            tx, entry._replace(stat=entry.stat._replace(mtime_ns=entry.stat.mtime_ns // 1_000_000))
        ),
    )


@fault("relay.log.05", item="corpus:good_forms")
def two_copies():
    """A recipient gets two copies."""
    rewrite(process.Processing._copies, "for recipient in recipients]", "for recipient in [*recipients, *recipients]]")


@fault("relay.log.43", item="corpus:good_forms")
def unknown_headers_are_malformed():
    """A header that nobody knows is malformed."""
    rewrite(
        msgfile._message,
        'priority = headers.pop("PRIORITY", None)',
        'priority = headers.pop("PRIORITY", None)\n'
        '    if headers.keys() - {"TO", "KIND", "THREAD", "CHECKSUM", "ATTACHMENT"}:\n'
        '        raise FormatError("unknown header")',
    )


@fault("relay.log.44", item="corpus:bad_forms")
def values_hold_anything():
    """A value may hold control characters."""
    rewrite(msgfile._header, "not value or _CONTROL.search(value)", "not value")


@fault("relay.log.66")
def writes_into_a_removed_ledger():
    """The open ledger is believed: a message is taken up and delivered after somebody removed it, and no row says
    so.
    """
    patch(Database, refuse_another_file=lambda self, **how: None)


@fault("relay.log.08")
def writes_where_agents_write():
    """Copies are staged in the folder of an agent."""
    stage = deliver.Delivery.stage

    def staged(self: deliver.Delivery, copies: list[deliver.Copy]) -> Any:
        for copy in copies:
            (self._store.root / "agents" / copy.recipient / "copy.tmp").write_bytes(copy.data)
        return stage(self, copies)

    patch(deliver.Delivery, stage=staged)


@fault("relay.log.58", chaos={"points": True, "only": "scan"})
def recovers_on_paper_first():
    """A recovery says that a delivery is complete, and then places its copies: a second death loses them."""

    def finish(self: Recovery, operation: int, payload: Any) -> None:
        with self._store.transaction() as tx:
            for message in payload["messages"]:
                ledger.complete(tx, message)
            self._delivery.complete(tx, operation, payload, [])
        if lost := self._delivery.place(payload):
            with self._store.transaction() as tx:
                self._delivery.complete(tx, operation, payload, lost)

    patch(Recovery, _finish_delivery=finish)


@fault("relay.log.58", chaos={"points": True, "only": "scan"}, author="public report, OpenViking #3225")
def what_was_begun_stays_so():
    """After a restart nobody takes up what was processing: it stays so for ever."""
    patch(Recovery, _release_claims=lambda _self: None)
