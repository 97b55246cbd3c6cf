"""The audit trail of others is written over."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.export.04",)


class Mutant(CommsBus):
    def export_audit_trail(self) -> dict[str, Any]:
        path = self.store.root / ".claude" / "audit-trail.jsonl"
        kept = [line for line in path.read_text().splitlines(True) if "audit_seq" in line] if path.exists() else []
        path.write_text("".join(kept))
        return super().export_audit_trail()


if __name__ == "__main__":
    serve({"comms": Mutant})
