"""Every process numbers its messages from one, for their ids."""

import itertools

from refbus.topics import sync
from refbus.topics.server import main

KILLED_BY = ("topics.log.36", "topics.log.37")

numbers = itertools.count(1)
sync._free_id = lambda _connection: f"m-{next(numbers)}"


if __name__ == "__main__":
    raise SystemExit(main())
