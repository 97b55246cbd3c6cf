"""A project of another protocol version is opened."""

import contextlib
from pathlib import Path

from refbus.comms import store
from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import SchemaMismatch

KILLED_BY = ("comms.log.57",)


agree_on_version = store.agree_on_version


def look_away(path: Path) -> None:
    with contextlib.suppress(SchemaMismatch):
        agree_on_version(path)


store.agree_on_version = look_away


if __name__ == "__main__":
    serve({"comms": CommsBus})
