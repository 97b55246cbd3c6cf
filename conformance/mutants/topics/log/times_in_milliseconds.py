"""Times are milliseconds."""

from refbus.kernel.transaction import Transaction
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.38",)

Transaction.now_s = property(lambda tx: tx.now_us / 1_000)


if __name__ == "__main__":
    raise SystemExit(main())
