"""A removed database is noticed, one in its place is not: a server that has the old one open goes on with it."""

from refbus.kernel.sight import Sight
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.81",)


def is_any_file_there(self: Sight) -> bool:
    return None not in self._found()


Sight.is_still_true = is_any_file_there  # type: ignore[method-assign]


if __name__ == "__main__":
    raise SystemExit(main())
