"""cursors.last_seq is the number to read next."""

from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.39",)

position, move = cursor.position, cursor.move
cursor.position = lambda tx, reader: max(position(tx, reader) - 1, 0)
cursor.move = lambda tx, reader, last_seq: move(tx, reader, last_seq + 1)

SEED, FAULT = "(SELECT last_seq", "(SELECT last_seq - 1"
assert SEED in cursor._NEWS
cursor._NEWS = cursor._NEWS.replace(SEED, FAULT)


if __name__ == "__main__":
    raise SystemExit(main())
