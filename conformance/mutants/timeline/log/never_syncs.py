"""synchronous = OFF. A power cut leaves the parts of the record that reached the disk by chance."""

from typing import Any

import refbus.kernel.store
from refbus.driver import serve
from refbus.kernel.db import Database
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.48",)
CHAOS = {"power": 100}


class Unsynced(Database):
    """Every connection is told so."""

    def __init__(self, path: Any, *, synchronous: str = "NORMAL", pragmas: Any = ()) -> None:
        super().__init__(path, synchronous="OFF", pragmas=pragmas)


refbus.kernel.store.Database = Unsynced  # type: ignore[misc]

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
