"""A look at a folder's ledger, with or without an orchestrator: it holds no lock and changes nothing."""

from __future__ import annotations

from pathlib import Path

from refbus.kernel.errors import NotFound
from refbus.kernel.face import Face
from refbus.relay import tree
from refbus.relay.audit import Audit
from refbus.relay.export import Export
from refbus.relay.store import Store


class View(Face):
    """The questions that can be asked while somebody else runs."""

    def __init__(self, root: Path | str) -> None:
        """Errors: NOT_FOUND where there is no ledger, SCHEMA_MISMATCH."""
        if not (Path(root) / tree.LEDGER).exists():
            raise NotFound(f"there is no {str(Path(root) / tree.LEDGER)!a:.300}")
        self.store = Store(root, hold=False)
        export = Export(self.store)
        self.status, self.dump, self.backup = export.status, export.dump, export.backup
        self.trail = Audit(self.store).trail

    def close(self) -> None:
        """Let go of the ledger."""
        self.store.close()
