"""cursors.last_seq is the number to read next."""

from typing import Any

from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.39",)

standing, move = cursor.standing, cursor.move


def one_less(tx: Any, reader: Any) -> cursor.Standing:
    found = standing(tx, reader)
    return found._replace(position=max(found.position - 1, 0))


cursor.standing = one_less
cursor.move = lambda tx, reader, last_seq: move(tx, reader, last_seq + 1)

SEED, FAULT = "(SELECT last_seq", "(SELECT last_seq - 1"
assert SEED in cursor._NEWS
cursor._NEWS = cursor._NEWS.replace(SEED, FAULT)


if __name__ == "__main__":
    raise SystemExit(main())
