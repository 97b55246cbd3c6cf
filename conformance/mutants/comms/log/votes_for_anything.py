"""A vote is cast for whatever is said, whenever it is said."""

import json
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.59", "comms.log.61", "comms.log.62")


class Mutant(CommsBus):
    def _cast_vote(self, connection: Any, envelope: Any) -> None:
        cast = json.loads(envelope.payload)
        connection.execute(
            "INSERT OR REPLACE INTO vote_casts VALUES (?, ?, ?, NULL, ?)",
            (cast["vote_id"], envelope.from_agent, cast["option"], envelope.timestamp),
        )


if __name__ == "__main__":
    serve({"comms": Mutant})
