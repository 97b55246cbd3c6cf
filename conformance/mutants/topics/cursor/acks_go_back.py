"""A backward ack moves the cursor back."""

from refbus.kernel.errors import InvalidArgument
from refbus.kernel.rules import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.19",)


def advance(current: int, asked: int, newest: int) -> int:
    if asked > newest:
        raise InvalidArgument(f"{asked} does not exist")
    return asked


cursor.advance = advance


if __name__ == "__main__":
    raise SystemExit(main())
