"""There is no index on (correlation_id, seq)."""

from refbus.driver import serve
from refbus.worker import migrate
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.32",)


_seed_text = migrate._text


def _changed(file: str) -> str:
    text = _seed_text(file)
    assert file != "schema.sql" or "idx_messages_correlation_seq ON messages(correlation_id, seq)" in text
    return text.replace(
        "idx_messages_correlation_seq ON messages(correlation_id, seq)", "idx_messages_correlation_seq ON messages(seq)"
    )


migrate._text = _changed


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
