"""The first option of a tie wins."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.62",)


class Mutant(CommsBus):
    def tally(self, vote_id: str) -> dict[str, Any]:
        reply = super().tally(vote_id)
        return {**reply, "winners": reply["winners"][:1]}


if __name__ == "__main__":
    serve({"comms": Mutant})
