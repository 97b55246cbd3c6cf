"""A second, other answer is taken, and dropped."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import IdConflict
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.13",)
ITEM = "corpus:program_01"


class Mutant(TimelineBus):
    """The first answer wins, and nobody is told."""

    def reply(self, key: Any, **params: Any) -> Any:
        try:
            return super().reply(key, **params)
        except IdConflict:
            node = self.store.queue.find(keys.subject(keys.reply_key(keys.from_dict(key), params.get("nonce"))))
            assert node is not None
            return {"subject": node.subject, "number": node.number, "hash": node.hash, "duplicate": True}


if __name__ == "__main__":
    serve({"timeline": Mutant})
