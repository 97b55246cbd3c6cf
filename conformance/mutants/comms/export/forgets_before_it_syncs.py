"""The rows of the audit log are deleted before the trail that has them is on the disk."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.jsonl import JsonlFile

KILLED_BY = ("comms.log.93",)
CHAOS = {"power": 150}

JsonlFile.make_durable = lambda self: None


if __name__ == "__main__":
    serve({"comms": CommsBus})
