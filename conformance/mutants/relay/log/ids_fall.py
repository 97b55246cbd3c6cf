"""A file that is found later has a lower id."""

import inspect

from refbus.driver import serve
from refbus.relay import ledger
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.54",)


WAS, IS = "INSERT INTO messages (message_id", "INSERT INTO messages (id, message_id"
VALUES, LOWER = (
    "VALUES (?, ?, 'outbox'",
    "VALUES ((SELECT coalesce(min(id), 1000000) - 1 FROM messages), ?, ?, 'outbox'",
)
SOURCE = inspect.getsource(ledger.insert)
assert WAS in SOURCE and VALUES in SOURCE
exec(SOURCE.replace(WAS, IS).replace(VALUES, LOWER), vars(ledger))


if __name__ == "__main__":
    serve({"relay": RelayBus})
