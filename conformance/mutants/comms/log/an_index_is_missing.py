"""There is no index on the expiry."""

from refbus.comms import store
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.21",)

statements = store.statements
store.statements = lambda file: [text for text in statements(file) if "idx_expiration" not in text]


if __name__ == "__main__":
    serve({"comms": CommsBus})
