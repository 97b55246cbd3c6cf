"""Any failure is answered DB_BUSY, which promises that nothing happened, also after the commit."""

import os
from typing import Any

from refbus.kernel.errors import DbBusy
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.76",)
CHAOS = {"disk_full": True, "only": "cursor_reset", "levels": (55,), "errors": ("EIO",)}


class SaysBusyOfWhatItDid(TopicsBus):
    """Writes a second file after each reset."""

    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
        reply = super().cursor_reset(topic_id, last_seq)
        try:
            file = os.open(self.store.path.parent / "resets.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            os.write(file, b"reset\n")
            os.close(file)
        except OSError as error:
            raise DbBusy(str(error)) from error
        return reply


if __name__ == "__main__":
    main(SaysBusyOfWhatItDid)
