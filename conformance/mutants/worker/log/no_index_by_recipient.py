"""There is no index on (to_agent, seq)."""

from refbus.driver import serve
from refbus.worker import migrate
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.31",)


_seed_text = migrate._text


def _changed(file: str) -> str:
    text = _seed_text(file)
    assert file != "schema.sql" or "idx_messages_to_seq ON messages(to_agent, seq)" in text
    return text.replace(
        "idx_messages_to_seq ON messages(to_agent, seq)", "idx_messages_to_seq ON messages(seq, to_agent)"
    )


migrate._text = _changed


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
