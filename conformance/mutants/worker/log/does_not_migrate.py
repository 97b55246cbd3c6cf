"""A store of an earlier version is refused."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import SchemaMismatch
from refbus.worker import migrate
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.41",)


_version_of = migrate._version


def _only_new_or_current(connection: Any) -> int:
    version = _version_of(connection)
    if version == 0 and migrate._exists(connection, "messages"):
        raise SchemaMismatch("too old")
    return version


migrate._version = _only_new_or_current


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
