"""An agent that has voted cannot change its vote."""

import json
from typing import Any

from refbus.comms import bus
from refbus.comms.vote import Votes
from refbus.driver import serve

KILLED_BY = ("comms.log.60",)


class Mutant(Votes):
    def cast_vote(self, tx: Any, envelope: Any) -> None:
        first = tx.execute(
            "SELECT * FROM vote_casts WHERE vote_id = ? AND agent_id = ?",
            (json.loads(envelope.payload)["vote_id"], envelope.from_agent),
        ).fetchone()
        super().cast_vote(tx, envelope)
        if first:
            tx.execute("INSERT OR REPLACE INTO vote_casts VALUES (?, ?, ?, ?, ?)", first)


bus.Votes = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
