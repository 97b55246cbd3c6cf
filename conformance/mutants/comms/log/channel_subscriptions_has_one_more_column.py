"""The table channel_subscriptions is not the seed's."""

from refbus.comms import store
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.18",)

statements = store.statements
store.statements = lambda file: [
    text.replace("CREATE TABLE channel_subscriptions (", "CREATE TABLE channel_subscriptions (\n    extra TEXT,")
    for text in statements(file)
]


if __name__ == "__main__":
    serve({"comms": CommsBus})
