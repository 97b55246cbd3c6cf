"""A failed message that is due is shown also when a stranger has taken it since."""

from refbus.comms import store
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.43",)


RULE, FAULT = "m.status = d.status;", "m.status IN ('processing', 'failed');"
assert RULE in store.SCHEMA.extra
store.SCHEMA = store.SCHEMA._replace(extra=store.SCHEMA.extra.replace(RULE, FAULT))


if __name__ == "__main__":
    serve({"comms": CommsBus})
