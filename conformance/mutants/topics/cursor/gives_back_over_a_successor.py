"""What a cancelled sync consumed is given back though another session of its agent has gone on since (B10)."""

from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.49",)
CHAOS = {"ways": ("cancelled",)}


def give_back(call: cursor.SyncCall) -> None:
    """Wherever the cursor stands by now."""
    if call.consumed is None or call.consumed[0] == call.consumed[1]:
        return
    before, _ = call.consumed
    back = "UPDATE cursors SET last_seq = ? WHERE topic_id = ? AND agent_name = ?"
    with call.cursor.store.transaction() as tx:
        tx.execute(back, (before, call.me.topic_id, call.me.agent_name))
    call.consumed = None


if __name__ == "__main__":
    cursor.SyncCall.give_back = give_back  # type: ignore[method-assign]
    main()
