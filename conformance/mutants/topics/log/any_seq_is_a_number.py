"""A seq that another program wrote is taken for a whole number."""

from refbus.topics import cursor, log
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.86",)
DIES_OF = "INTERNAL: TypeError"

for module, name in ((cursor, "_STANDING"), (cursor, "_NEWS"), (log, "_UNREAD")):
    setattr(module, name, getattr(module, name).replace(" AND typeof(seq) = 'integer'", ""))


if __name__ == "__main__":
    raise SystemExit(main())
