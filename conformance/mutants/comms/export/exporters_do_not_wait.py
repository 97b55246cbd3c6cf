"""Exporters read what is new, and then append it, without a lock."""

import time
from typing import Any

from refbus.comms import bus
from refbus.comms.export import Audit
from refbus.driver import serve

KILLED_BY = ("comms.export.06",)


class Mutant(Audit):
    def export_audit_trail(self) -> dict[str, Any]:
        lines, last_seq = self.lines_after(0)
        time.sleep(0.02)
        with (self.store.root / ".claude" / "audit-trail.jsonl").open("a") as file:
            file.write("".join(lines))
        self.store.db.write("DELETE FROM audit_log WHERE audit_seq <= ?", (last_seq,))
        return {"exported": len(lines)}


bus.Audit = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
