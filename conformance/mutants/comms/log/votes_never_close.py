"""A tally is open for ever."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.62",)


class Mutant(CommsBus):
    def tally(self, vote_id: str) -> dict[str, Any]:
        return {**super().tally(vote_id), "closed": False}


if __name__ == "__main__":
    serve({"comms": Mutant})
