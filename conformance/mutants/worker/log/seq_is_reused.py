"""A seq whose message is gone is given again."""

from refbus.driver import serve
from refbus.worker import migrate
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.26",)


_seed_text = migrate._text


def _changed(file: str) -> str:
    text = _seed_text(file)
    assert file != "schema.sql" or "AUTOINCREMENT" in text
    return text.replace("AUTOINCREMENT", "")


migrate._text = _changed


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
