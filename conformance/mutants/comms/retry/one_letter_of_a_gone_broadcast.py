"""A broadcast that is gone comes back for one letter: its row stays once that agent is done, and bars all others."""

from refbus.comms import retry
from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.transaction import Transaction

KILLED_BY = ("comms.retry.18",)
ITEM = "corpus:letters_of_a_gone_broadcast"


def make_way(tx: Transaction, message_id: str, agent_id: str | None) -> bool:
    present = tx.row("SELECT to_agent FROM messages WHERE id = ?", (message_id,))
    return present is None or present[0] in (None, agent_id)


retry._make_way = make_way

if __name__ == "__main__":
    serve({"comms": CommsBus})
