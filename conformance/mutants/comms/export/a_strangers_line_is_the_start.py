"""Where another wrote the last line, the whole trail is written again."""

import json
from typing import Any

from refbus.comms import bus
from refbus.comms.export import Audit
from refbus.driver import serve

KILLED_BY = ("comms.export.05",)


def to_the_end(audit: Audit, last_seq: int) -> tuple[list[str], int]:
    lines: list[str] = []
    while (found := audit.lines_after(last_seq))[0]:
        lines, last_seq = lines + found[0], found[1]
    return lines, last_seq


class Mutant(Audit):
    def export_audit_trail(self) -> dict[str, Any]:
        with (self.store.root / ".claude" / "audit-trail.jsonl").open("a+") as file:
            file.seek(0)
            last = file.readlines()[-1:]
            lines, _ = to_the_end(self, json.loads(last[0]).get("audit_seq", 0) if last else 0)
            file.write("".join(lines))
        return {"exported": len(lines)}


bus.Audit = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
