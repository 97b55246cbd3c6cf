"""Faults of relay, limit."""

import os
import types
from collections import Counter
from typing import Any

from plant import fault, patch, rewrite

from refbus.kernel import msgfile
from refbus.relay import audit, deliver, limit, lock, presence, process, recovery, scan, tree
from refbus.relay.bus import RelayBus
from refbus.relay.presence import Presence

CONTROL = "lease.lock"


@fault("relay.limit.01", "relay.retry.02", item="corpus:later_limits")
def a_later_limit_holds():
    """A pending message that a later, smaller limit forbids waits for ever."""
    rewrite(process.Processing._read, "if is_same and before.st_size > config.message_bytes_max:", "if False:")


@fault("relay.limit.03", "relay.limit.05")
def a_restart_forgives_the_rate():
    """The files that an agent sent in the last minute are counted by the orchestrator that took them, not in the
    ledger.
    """
    room = limit.Rate.room
    BEFORE: dict[limit.Rate, Counter[str]] = {}

    def room_since_the_start(rate: limit.Rate, agent: str) -> int:
        """Rows of the last minute that this one took itself: those that were there when it first looked do not
        count.
        """
        at_most = rate._store.config.rate_per_min
        taken = at_most - room(rate, agent)
        before = BEFORE.setdefault(rate, Counter())
        before.setdefault(agent, taken)
        before[agent] = min(before[agent], taken)
        return at_most - taken + before[agent]

    patch(limit.Rate, room=room_since_the_start)


@fault("relay.limit.07")
class AnOpenLedger(RelayBus):
    """The ledger is open to others."""

    def __init__(self, root: Any, **options: Any) -> None:
        super().__init__(root, **options)
        (self.store.root / "ledger.db").chmod(0o644)


@fault("relay.limit.13", "relay.log.47", item="corpus:odd_things")
def any_name_is_a_message():
    """A .msg file may have any name."""
    rewrite(scan.Scanner._outbox, '"bad_file_name"', "None")


@fault("relay.limit.01", item="corpus:limits")
def any_size():
    """A file may have any size."""
    rewrite(msgfile.judge, "if before.size > bytes_max:", "if before.size > bytes_max * 2:")


@fault("relay.limit.16", item="corpus:limits")
def audits_without_a_path():
    """A record has the name of the file alone."""
    rewrite(
        audit.Audit.add,
        "(tx.now_ms, event, path, detail, inode, mtime_ns)",
        "(tx.now_ms, event, path.rpartition('/')[2], detail, inode, mtime_ns)",
    )


@fault("relay.limit.19", dies_of="INTERNAL")
def dies_of_nul():
    """A file of NULs ends the pass."""
    rewrite(
        msgfile.parse, "if not data:", 'if data[:1] == b"\\x00":\n        raise RecursionError("NUL")\n    if not data:'
    )


@fault("relay.limit.15")
def folders_may_be_links():
    """A link in the place of a folder is followed."""
    patch(tree, _FOLDER=tree._FOLDER & ~os.O_NOFOLLOW)


@fault("relay.limit.15")
def follows_its_lock():
    """The lock is written wherever a link in its place leads."""
    patch(lock, os=types.SimpleNamespace(**{**vars(os), "O_NOFOLLOW": 0}))


@fault("relay.limit.12", item="corpus:odd_things")
def hard_links_are_files():
    """A file with two names is taken."""
    rewrite(tree.refusal, "status.st_nlink > 1", "status.st_nlink > 2")


@fault("relay.limit.18")
def leaves_large_files_open():
    """A file that is too large is opened, looked at, and left open."""
    _read, _left = tree.read, list[int]()

    def _leaks(name: str, fd: int, bytes_max: int) -> Any:
        file = _read(name, fd, bytes_max)
        if file[0].st_size > bytes_max:
            _left.append(os.open(os.devnull, os.O_RDONLY))
        return file

    patch(tree, read=_leaks)


@fault("relay.limit.10", item="corpus:odd_things")
def links_are_agents():
    """A link among the agents is passed over in silence."""
    rewrite(presence.Presence._folders, 'event = "symlink"', "continue")


@fault("relay.limit.09", item="corpus:odd_things")
def links_are_followed():
    """A symlink to a message is a message."""
    rewrite(tree.look, "follow_symlinks=False", "follow_symlinks=True")


@fault("relay.limit.16", item="limit.links")
def links_are_told_as_anything():
    """A link in the place of an agent's folder is told as no folder, like anything else that may stand there."""
    _obstacle = Presence._obstacle

    def tells_no_kind(presence: Presence, *parts: str) -> object:
        refusal = _obstacle(presence, *parts)
        return refusal and refusal._replace(event="not_regular")

    patch(Presence, _obstacle=tells_no_kind)


@fault("relay.limit.15", item="limit.links")
def links_in_tmp_are_followed():
    """A start tidies up tmp/, and takes a link to a folder for a folder of its own."""
    rewrite(recovery.Recovery._sweep, "is_dir(follow_symlinks=False)", "is_dir()")

    def remove(self: deliver.Delivery, folder: str) -> None:
        path = self._store.root / "tmp" / folder
        for entry in path.iterdir():
            entry.unlink()
        path.unlink() if path.is_symlink() else path.rmdir()

    patch(deliver.Delivery, remove=remove)


@fault("relay.limit.03", item="corpus:limits")
def no_rate():
    """Any number of files is taken."""
    rewrite(limit.Rate.room, "return max(0,", "return 10**6 + max(0,")


@fault("relay.limit.11", item="corpus:odd_things")
def odd_things_are_not_told():
    """A fifo or folder is passed over in silence."""
    rewrite(
        scan.Scanner._outbox,
        "if event is not None:\n",
        'if event == "not_regular":\n                continue\n            if event is not None:\n',
    )


@fault("relay.limit.02", item="corpus:limits")
def one_byte_less():
    """A file of exactly the limit is too large."""
    rewrite(msgfile.judge, "if before.size > bytes_max:", "if before.size >= bytes_max:")
    RelayBus.LIMITS.clear()


@fault("relay.limit.05", item="corpus:limits")
def one_rate_for_all():
    """The rate of one agent holds for all."""
    rewrite(limit.Rate.room, "WHERE agent_name = ? AND direction", "WHERE agent_name <> ? || '!' AND direction")


@fault("relay.limit.06")
def open_agents():
    """An agent's folder is open to others."""
    rewrite(tree.make_agent, "os.fchmod(own, FOLDER_MODE)", "os.fchmod(own, 0o755)")


@fault("relay.limit.08")
def open_copies():
    """Delivered files are open to others."""
    rewrite(deliver.Delivery._write, "dir_fd=fd)\n", "dir_fd=fd)\n        os.fchmod(file, 0o644)\n")


@fault("relay.limit.19")
def passes_over_far_times():
    """A file whose time exceeds 64 bits of nanoseconds is passed over: it gets no row."""
    _look = tree.look

    def overlooks(name: str, fd: int) -> os.stat_result:
        status = _look(name, fd)
        if not -(2**63) <= status.st_mtime_ns < 2**63:
            raise FileNotFoundError(name)
        return status

    patch(tree, look=overlooks)


@fault("relay.limit.20")
class SaysMoreThanItDelivers(RelayBus):
    """hello tells a byte more than the orchestrator reads of a message."""

    LIMITS = RelayBus.LIMITS | {"message_bytes_max": 1_048_577}


@fault("relay.limit.04", item="corpus:limits")
def the_rate_is_not_told():
    """Waiting agents are not recorded."""
    rewrite(limit.Rate.news, "return limited - self._limited", "return set()")


@fault("relay.limit.14", item="corpus:odd_things")
def told_in_every_pass():
    """A refusal is recorded in every pass."""
    rewrite(audit.Audit.add, "if last == (inode, mtime_ns):", "if last == (inode, -1):")
