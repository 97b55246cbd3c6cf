"""Sends and claims look for the file; a heartbeat or a subscription, which is one statement, is written anywhere."""

from collections.abc import Sequence
from sqlite3 import Cursor
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.db import Database

KILLED_BY = ("comms.log.92",)


def write(self: Database, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> Cursor:
    return self.connection().execute(sql, values)


Database.write = write  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"comms": CommsBus})
