"""There is no index on (type, from_agent, ts_ms)."""

from refbus.driver import serve
from refbus.worker import migrate
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.33",)


_seed_text = migrate._text


def _changed(file: str) -> str:
    text = _seed_text(file)
    assert file != "schema.sql" or "idx_messages_type_from_ts ON messages(type, from_agent, ts_ms)" in text
    return text.replace(
        "idx_messages_type_from_ts ON messages(type, from_agent, ts_ms)", "idx_messages_type_from_ts ON messages(type)"
    )


migrate._text = _changed


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
