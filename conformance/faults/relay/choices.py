"""Choices of relay where its seed is silent: nobody may blame them."""

from plant import fault, patch, rewrite

from refbus.kernel.transaction import Transaction
from refbus.relay import deliver, names, scan, tree
from refbus.relay.bus import RelayBus
from refbus.relay.deliver import Copy, Delivery


@fault()
def agents_take_turns_by_name():
    """Files that one scan finds at one priority go to the ledger by agent, and only then by the file's name (R14)."""
    rewrite(scan.Scanner._write, "(new[0], new[1].name, new[1].agent)", "(new[0], new[1].agent, new[1].name)")


@fault()
def ids_with_a_colon():
    """message_id is AGENT:STEM (R11)."""
    patch(names, message_id=lambda agent, name: f"{agent}:{name.removesuffix(names.SUFFIX)}")


@fault()
def inboxes_count_from_one():
    """A delivered file is called by its number in the inbox: 1, 2, 3, with as many zeros before it as make them
    rise.
    """
    patch(names, file_name=lambda at_ns, of: f"{at_ns:019}-{of}.msg")

    def free_name(self: Delivery, tx: Transaction, copy: Copy, newest: int | None) -> str:
        if newest is None:
            row = tx.row(
                "SELECT file_path FROM messages WHERE agent_name = ? AND direction = 'inbox' ORDER BY id DESC LIMIT 1",
                (copy.recipient,),
            )
            newest = 0 if row is None else names.time_ns(row[0].rpartition("/")[2])
        return names.file_name(newest + 1, copy.uuid)

    patch(deliver.Delivery, _free_name=free_name)


@fault()
def the_ledger_is_elsewhere():
    """The ledger is another file, which only dump shows: there is no ledger.db, and sqlite is not declared."""
    patch(tree, LEDGER="book")

    class Bus(RelayBus):
        """Without the feature."""

        FEATURES = tuple(name for name in RelayBus.FEATURES if name != "sqlite")

    return Bus
