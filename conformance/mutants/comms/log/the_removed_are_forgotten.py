"""A send that is tried again after a clean-up is a new message."""

from refbus.comms import log
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.91",)


log._REMOVED += " AND FALSE"
assert "removed_messages WHERE message_id = ? AND FALSE" in log._REMOVED


if __name__ == "__main__":
    serve({"comms": CommsBus})
