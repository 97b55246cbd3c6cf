"""A completion that is late counts no more once anybody has cleaned up."""

import sqlite3

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.18",)


class Mutant(CommsBus):
    def _is_let_go(self, connection: sqlite3.Connection, message_id: str, agent_id: str) -> bool:
        return False


if __name__ == "__main__":
    serve({"comms": Mutant})
