"""A locked file is an error at once."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel import db
from refbus.kernel.rules import retry

KILLED_BY = ("comms.log.28",)

db.BUSY_TIMEOUT_MS = 0
retry.LOCK_ATTEMPTS_MAX = 1


if __name__ == "__main__":
    serve({"comms": CommsBus})
