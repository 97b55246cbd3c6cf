"""messages.in_reply_to is a number."""

from refbus.driver import serve
from refbus.worker import migrate
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.30",)


_seed_text = migrate._text


def _changed(file: str) -> str:
    text = _seed_text(file)
    assert file != "schema.sql" or "in_reply_to TEXT" in text
    return text.replace("in_reply_to TEXT", "in_reply_to INTEGER")


migrate._text = _changed


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
