"""The base of every noun of the orchestrator: the folder, its ledger, its settings, a clock, and the lock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refbus.kernel.clock import Clock
from refbus.kernel.errors import of_os_error
from refbus.kernel.files import existing_folder
from refbus.kernel.schema import Schema
from refbus.kernel.store import Store as Base
from refbus.relay import config, tree
from refbus.relay.failure import Troubles
from refbus.relay.lock import Lock

SCHEMA = Schema.of_folder(Path(__file__).parent)
PRAGMAS = ("PRAGMA cache_size = -2000", "PRAGMA temp_store = MEMORY")  # appendix B; the others are the kernel's


class Store(Base):
    """An open folder. Unless it is only looked at, it is held against other orchestrators until it is closed."""

    def __init__(
        self,
        root: Path | str,
        *,
        clock: Clock | None = None,
        synchronous: str = "NORMAL",
        hold: bool = True,
        **options: Any,
    ) -> None:
        self.root = existing_folder("root", root)
        super().__init__(self.root / tree.LEDGER, clock=clock, synchronous=synchronous, pragmas=PRAGMAS)
        self.is_power_safe = synchronous == "FULL"
        self.config = config.Config()
        self.troubles = Troubles()
        self.lock = Lock(self.root / tree.LOCK)
        if hold:
            self.lock.take()
        try:
            if hold:
                self._prepare(options)
            self.open(SCHEMA)
        except BaseException:
            self.lock.release()
            raise

    def close(self) -> None:
        """Close the ledger, then let another orchestrator in."""
        super().close()
        self.lock.release()

    def _prepare(self, options: dict[str, Any]) -> None:
        """Settings and folders."""
        self.config = config.load(self.root / tree.CONFIG, options)
        try:
            tree.make(self.root)
        except OSError as error:
            raise of_os_error(error, definite=True) from error
