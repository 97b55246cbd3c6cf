"""Every export writes the whole trail."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.export.03", "comms.export.05", "comms.export.06")


class Mutant(CommsBus):
    def export_audit_trail(self) -> dict[str, Any]:
        lines, _ = self.lines_after(0)
        with (self.root / ".claude" / "audit-trail.jsonl").open("a") as file:
            file.write("".join(lines))
        return {"exported": len(lines)}


if __name__ == "__main__":
    serve({"comms": Mutant})
