"""task_claims.lease_until_ms may be null."""

from refbus.driver import serve
from refbus.worker import migrate
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.36",)


_seed_text = migrate._text


def _changed(file: str) -> str:
    text = _seed_text(file)
    assert file != "schema.sql" or "lease_until_ms INTEGER NOT NULL" in text
    return text.replace("lease_until_ms INTEGER NOT NULL", "lease_until_ms INTEGER")


migrate._text = _changed


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
