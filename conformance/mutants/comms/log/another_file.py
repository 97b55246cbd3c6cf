"""The database has another name."""

from refbus.comms import store
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.24",)

store.DB_NAME = "bus.db"


if __name__ == "__main__":
    serve({"comms": CommsBus})
