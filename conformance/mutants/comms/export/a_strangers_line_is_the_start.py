"""Where another wrote the last line, the whole trail is written again."""

import json
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.export.05",)


class Mutant(CommsBus):
    def export_audit_trail(self) -> dict[str, Any]:
        with (self.root / ".claude" / "audit-trail.jsonl").open("a+") as file:
            file.seek(0)
            last = file.readlines()[-1:]
            lines, _ = self.lines_after(json.loads(last[0]).get("audit_seq", 0) if last else 0)
            file.write("".join(lines))
        return {"exported": len(lines)}


if __name__ == "__main__":
    serve({"comms": Mutant})
