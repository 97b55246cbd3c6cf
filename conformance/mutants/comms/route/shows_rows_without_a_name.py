"""Rows whose id is no text are shown."""

from refbus.comms import route, store
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.44",)


RULE, FAULT = "WHERE typeof(id) = 'text'", "WHERE TRUE"
assert RULE in store.SCHEMA.extra
store.SCHEMA = store.SCHEMA._replace(extra=store.SCHEMA.extra.replace(RULE, FAULT))
route.can_be_named = lambda message_id: True


if __name__ == "__main__":
    serve({"comms": CommsBus})
