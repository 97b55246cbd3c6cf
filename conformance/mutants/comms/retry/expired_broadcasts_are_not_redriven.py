"""The letter of a broadcast that has expired is taken away, and nobody gets it."""

from typing import Any

from refbus.comms import bus
from refbus.comms.log import Log
from refbus.comms.retry import Retries
from refbus.driver import serve

KILLED_BY = ("comms.retry.18",)


class Forgetful(Log):
    def remove_expired(self, tx: Any, only: str | None = None) -> int:
        return 0 if only else super().remove_expired(tx)


class Mutant(Retries):
    def put_back(self, tx: Any, message: Any, agent_id: Any) -> None:
        if tx.row("SELECT 1 FROM messages WHERE id = ?", (message["id"],)) is None:
            super().put_back(tx, message, agent_id)


bus.Log, bus.Retries = Forgetful, Mutant


if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
