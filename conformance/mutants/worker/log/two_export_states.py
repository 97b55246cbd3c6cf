"""export_state may have more than one row."""

from refbus.driver import serve
from refbus.worker import migrate
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.38",)


_seed_text = migrate._text


def _changed(file: str) -> str:
    text = _seed_text(file)
    assert file != "schema.sql" or "CHECK (id = 1)" in text
    return text.replace("CHECK (id = 1)", "CHECK (id > 0)")


migrate._text = _changed


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
