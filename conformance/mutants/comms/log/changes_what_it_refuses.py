"""A project of another version is refused when its database has been given a table."""

import sqlite3
from contextlib import closing
from pathlib import Path

import refbus.comms.store
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.57",)

_agree = refbus.comms.store.agree_on_version


def _open_first(path: Path) -> None:
    with closing(sqlite3.connect(path.parent / "messages.db")) as db:
        db.execute("CREATE TABLE IF NOT EXISTS of_ours (id)")
    _agree(path)


refbus.comms.store.agree_on_version = _open_first

if __name__ == "__main__":
    serve({"comms": CommsBus})
