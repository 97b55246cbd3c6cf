"""Who has voted cannot change it."""

import json
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.60",)


class Mutant(CommsBus):
    def _cast_vote(self, connection: Any, envelope: Any) -> None:
        first = connection.execute(
            "SELECT * FROM vote_casts WHERE vote_id = ? AND agent_id = ?",
            (json.loads(envelope.payload)["vote_id"], envelope.from_agent),
        ).fetchone()
        super()._cast_vote(connection, envelope)
        if first:
            connection.execute("INSERT OR REPLACE INTO vote_casts VALUES (?, ?, ?, ?, ?)", first)


if __name__ == "__main__":
    serve({"comms": Mutant})
