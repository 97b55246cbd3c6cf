"""Faults of comms, export."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from typing import Any

from plant import fault, in_two_steps, patch, wrap

from refbus.comms import bus
from refbus.comms.bus import CommsBus
from refbus.comms.export import Audit
from refbus.kernel import jsonl
from refbus.kernel.jsonl import JsonlFile

CONTROL = "export.audit"


@fault("comms.log.71", chaos={"points": True, "only": "export_audit_trail"})
def a_strangers_line_hides_the_last():
    """The last line alone tells what the trail has: where it is a stranger's, after a crash, all comes again."""
    _repair = jsonl.JsonlFile._repair

    def of_the_last_line(self: Any, fd: int) -> tuple[int, int]:
        size, last_seq = _repair(self, fd)
        _, line = jsonl._last_line(fd, size)
        return size, last_seq if self._is_ours(line) else 0

    patch(jsonl.JsonlFile, _repair=of_the_last_line)


@fault("comms.export.05")
def a_strangers_line_is_the_start():
    """Where another wrote the last line, the whole trail is written again."""

    def to_the_end(audit: Audit, last_seq: int) -> tuple[list[str], int]:
        lines: list[str] = []
        while (page := audit.lines_after(last_seq))[0]:
            lines, last_seq = lines + page[0], page[1]
        return lines, last_seq

    class Faulty(Audit):
        def export_audit_trail(self) -> dict[str, Any]:
            with (self.store.root / ".claude" / "audit-trail.jsonl").open("a+") as file:
                file.seek(0)
                last = file.readlines()[-1:]
                lines, _ = to_the_end(self, json.loads(last[0]).get("audit_seq", 0) if last else 0)
                file.write("".join(lines))
            return {"exported": len(lines)}

    patch(bus, Audit=Faulty)


@fault("comms.export.10")
def a_torn_beginning_is_a_strangers():
    """A line of its own that was torn in its first letters is taken for another program's, and stays for good."""
    patch(JsonlFile, _is_ours=lambda self, line: line.startswith(self._own_start))


@fault("comms.export.01", control="export.keeps_others")
def claims_are_not_audited():
    """The audit trail does not tell claims."""

    class Faulty(Audit):
        def record(self, tx: Any, event: str, *args: Any, **details: Any) -> None:
            if event != "claimed":
                super().record(tx, event, *args, **details)

    patch(bus, Audit=Faulty)


@fault("comms.export.01", control="log.envelope", item="corpus")
def every_event_was_in_1970():
    """The lines of the trail have no time of their own."""

    class Faulty(Audit):
        def record(self, tx: Any, event: str, agent_id: Any, message_id: Any, **details: Any) -> None:
            super().record(tx, event, agent_id, message_id, **details)
            tx.execute("UPDATE audit_log SET at = '1970-01-01T00:00:00.000000Z'")

    patch(bus, Audit=Faulty)


@fault("comms.export.01", control="log.envelope", item="corpus")
def every_line_says_sent():
    """Every line of the trail tells the same event."""

    wrap(
        Audit,
        record=lambda whole, self, tx, event, agent_id, message_id, **details: whole(
            self, tx, "sent", agent_id, message_id, **details
        ),
    )


@fault("comms.export.06", "comms.export.09")
def exporters_do_not_wait():
    """Exporters read the new events, and then append them, without a lock."""

    def to_the_end(audit: Audit, last_seq: int) -> tuple[list[str], int]:
        lines: list[str] = []
        while (page := audit.lines_after(last_seq))[0]:
            lines, last_seq = lines + page[0], page[1]
        return lines, last_seq

    class Faulty(Audit):
        def export_audit_trail(self) -> dict[str, Any]:
            lines, last_seq = to_the_end(self, 0)
            time.sleep(0.02)
            with (self.store.root / ".claude" / "audit-trail.jsonl").open("a") as file:
                file.write("".join(lines))
            self.store.db.write("DELETE FROM audit_log WHERE audit_seq <= ?", (last_seq,))
            return {"exported": len(lines)}

    patch(bus, Audit=Faulty)


@fault("comms.log.93", chaos={"power": 150})
def forgets_before_it_syncs():
    """The rows of the audit log are deleted before the trail that has them is on the disk."""
    patch(JsonlFile, make_durable=lambda self: None)


@fault("comms.log.71", chaos={"points": True, "only": "export_audit_trail"})
def looks_at_one_buffer():
    """The repair of the trail takes the bytes of one read for the last line: after a crash, a long one comes again."""
    BUFFER_BYTES = 65_536

    def last_line(fd: int, end: int) -> tuple[int, bytes]:
        """The last line of the last bytes alone."""
        start = max(0, end - BUFFER_BYTES)
        tail = os.pread(fd, end - start, start)
        newline = tail.rfind(b"\n", 0, len(tail) - 1)
        return start + newline + 1, tail[newline + 1 :]

    patch(jsonl, _last_line=last_line)


@fault("comms.export.08")
def only_objects_are_others_lines():
    """Another program's line is taken for one only where it is a JSON object: any other is cut off as torn."""
    _is_ours = jsonl.JsonlFile._is_ours

    def is_ours(self: Any, line: bytes) -> bool:
        return _is_ours(self, line) or not isinstance(jsonl._value_of(line), dict)

    patch(jsonl.JsonlFile, _is_ours=is_ours)


@fault("comms.log.71", control="log.envelope", chaos={"points": True, "only": "send_message"})
def records_afterwards():
    """A message is stored, and its audit record in a transaction of its own."""
    return in_two_steps(CommsBus, "send_message", Audit, "record")


@fault("comms.export.11", chaos={"holds": True, "twice": 24, "only": "export_audit_trail"})
def removes_its_lock():
    """The lock's file is removed after each export: an exporter that waits has the old one, a later one makes a new
    one.
    """
    locked = JsonlFile.locked

    @contextlib.contextmanager
    def locked_and_removed(self: JsonlFile) -> Iterator[None]:
        with locked(self):
            yield
            self._lock_path.unlink(missing_ok=True)

    patch(JsonlFile, locked=locked_and_removed)


@fault("comms.export.07", control="export.keeps_others")
def the_trail_in_memory():
    """An event is recorded when its process exports."""

    class Faulty(Audit):
        kept: list[tuple[Any, Any]] = []  # noqa: RUF012

        def record(self, tx: Any, *args: Any, **details: Any) -> None:
            self.kept.append((args, details))

        def export_audit_trail(self) -> Any:
            with self.store.transaction() as tx:
                while self.kept:
                    args, details = self.kept.pop(0)
                    super().record(tx, *args, **details)
            return super().export_audit_trail()

    patch(bus, Audit=Faulty)


@fault("comms.export.04")
class TheTrailIsOursAlone(CommsBus):
    """The audit trail of others is written over."""

    def export_audit_trail(self) -> dict[str, Any]:
        path = self.store.root / ".claude" / "audit-trail.jsonl"
        kept = [line for line in path.read_text().splitlines(True) if "audit_seq" in line] if path.exists() else []
        path.write_text("".join(kept))
        return super().export_audit_trail()


@fault("comms.export.03", "comms.export.05", "comms.export.06", control="export.survives_kill")
def the_trail_is_told_again():
    """Every export writes the whole trail."""

    def to_the_end(audit: Audit, last_seq: int) -> tuple[list[str], int]:
        lines: list[str] = []
        while (page := audit.lines_after(last_seq))[0]:
            lines, last_seq = lines + page[0], page[1]
        return lines, last_seq

    class Faulty(Audit):
        def export_audit_trail(self) -> dict[str, Any]:
            lines, _ = to_the_end(self, 0)
            with (self.store.root / ".claude" / "audit-trail.jsonl").open("a") as file:
                file.write("".join(lines))
            return {"exported": len(lines)}

    patch(bus, Audit=Faulty)


@fault("comms.export.02", control="export.keeps_others")
def the_trail_names_nobody():
    """The audit trail does not tell who did it."""

    class Faulty(Audit):
        def record(self, tx: Any, event: str, agent_id: Any, message_id: Any, **details: Any) -> None:
            details.pop("to_agent", None)
            super().record(tx, event, None, message_id, **details)

    patch(bus, Audit=Faulty)


@fault("comms.export.11", chaos={"holds": True, "only": "export_audit_trail"})
def writes_where_the_file_ended():
    """The trail is written where it ended when it was looked at: over the line that another has added since."""
    _write_all, _repair = jsonl.write_all, JsonlFile._repair

    def repair(self: JsonlFile, fd: int) -> Any:
        size, last_seq = _repair(self, fd)
        os.lseek(fd, size, os.SEEK_SET)
        return size, last_seq

    def write_all(fd: int, data: bytes) -> None:
        own = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
        try:
            os.lseek(own, os.lseek(fd, 0, os.SEEK_CUR), os.SEEK_SET)
            _write_all(own, data)
            os.lseek(fd, len(data), os.SEEK_CUR)
        finally:
            os.close(own)

    patch(JsonlFile, _repair=repair)
    patch(jsonl, write_all=write_all)
