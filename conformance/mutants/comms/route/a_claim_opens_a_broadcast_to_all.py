"""A broadcast that one agent has claimed is answered by any other."""

from refbus.comms import request
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.45",)

WAS = " AND agent_id = ?"
assert WAS in request._CLAIMED
request._CLAIMED = request._CLAIMED.replace(WAS, " AND ? IS NOT NULL")

if __name__ == "__main__":
    serve({"comms": CommsBus})
