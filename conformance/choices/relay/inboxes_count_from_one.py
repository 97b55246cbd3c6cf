"""A delivered file is called by its number in the inbox: 1, 2, 3, with as many zeros before it as make them rise."""

from refbus.driver import serve
from refbus.kernel.transaction import Transaction
from refbus.relay import deliver, names
from refbus.relay.bus import RelayBus
from refbus.relay.deliver import Copy, Delivery

names.file_name = lambda at_ns, of: f"{at_ns:019}-{of}.msg"


def free_name(self: Delivery, tx: Transaction, copy: Copy, newest: int | None) -> str:
    if newest is None:
        row = tx.row(
            "SELECT file_path FROM messages WHERE agent_name = ? AND direction = 'inbox' ORDER BY id DESC LIMIT 1",
            (copy.recipient,),
        )
        newest = 0 if row is None else names.time_ns(row[0].rpartition("/")[2])
    return names.file_name(newest + 1, copy.uuid)


deliver.Delivery._free_name = free_name  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"relay": RelayBus})
