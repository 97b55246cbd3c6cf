"""Exporters read the new events, and then append them, without a lock."""

import time
from typing import Any

from refbus.comms import bus
from refbus.comms.export import Audit
from refbus.driver import serve

KILLED_BY = ("comms.export.06", "comms.export.09")


def to_the_end(audit: Audit, last_seq: int) -> tuple[list[str], int]:
    lines: list[str] = []
    while (found := audit.lines_after(last_seq))[0]:
        lines, last_seq = lines + found[0], found[1]
    return lines, last_seq


class Mutant(Audit):
    def export_audit_trail(self) -> dict[str, Any]:
        lines, last_seq = to_the_end(self, 0)
        time.sleep(0.02)
        with (self.store.root / ".claude" / "audit-trail.jsonl").open("a") as file:
            file.write("".join(lines))
        self.store.db.write("DELETE FROM audit_log WHERE audit_seq <= ?", (last_seq,))
        return {"exported": len(lines)}


bus.Audit = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
