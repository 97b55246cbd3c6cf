"""A vote is cast for any option, at any time."""

import json
from typing import Any

from refbus.comms import bus
from refbus.comms.vote import Votes
from refbus.driver import serve

KILLED_BY = ("comms.log.59", "comms.log.61", "comms.log.62")


class Mutant(Votes):
    def cast_vote(self, tx: Any, envelope: Any) -> None:
        cast = json.loads(envelope.payload)
        tx.execute(
            "INSERT OR REPLACE INTO vote_casts VALUES (?, ?, ?, NULL, ?)",
            (cast["vote_id"], envelope.from_agent, cast["option"], envelope.timestamp),
        )


bus.Votes = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
