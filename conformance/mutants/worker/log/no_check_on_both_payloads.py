"""A row may have both payload and payload_ref."""

from refbus.driver import serve
from refbus.worker import migrate
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.21",)


_seed_text = migrate._text


def _changed(file: str) -> str:
    text = _seed_text(file)
    assert file != "schema.sql" or "CHECK (payload IS NULL OR payload_ref IS NULL)" in text
    return text.replace("CHECK (payload IS NULL OR payload_ref IS NULL)", "CHECK (1)")


migrate._text = _changed


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
