"""A send that is tried again after its message was buried is a new message."""

from refbus.comms import log
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.90",)


log._LETTER += " AND FALSE"
assert "dead_letter_queue WHERE id = ? AND FALSE" in log._LETTER


if __name__ == "__main__":
    serve({"comms": CommsBus})
