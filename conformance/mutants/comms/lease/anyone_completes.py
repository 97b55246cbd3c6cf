"""Any agent that completes a message completes it for its addressee."""

from refbus.comms import lease
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.11",)

owner = lease._owner
lease._owner = lambda row, agent_id: row[2] or owner(row, agent_id)


if __name__ == "__main__":
    serve({"comms": CommsBus})
