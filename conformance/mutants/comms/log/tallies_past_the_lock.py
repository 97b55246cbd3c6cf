"""A tally reads without the lock: it says closed while a vote cast in time is on its way, and is counted later."""

from types import SimpleNamespace

from refbus.comms.bus import CommsBus
from refbus.comms.vote import Tally, Votes
from refbus.driver import serve

KILLED_BY = ("comms.log.95",)
CHAOS = {"holds": True, "only": "vote.cast"}

_tally = Votes.tally


def tally(self: Votes, vote_id: str) -> Tally:
    reads = SimpleNamespace(transaction=self.store.snapshot)
    return _tally(Votes(reads), vote_id)  # type: ignore[arg-type]


Votes.tally = tally  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"comms": CommsBus})
