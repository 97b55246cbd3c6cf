"""The table messages is not the seed's."""

from refbus.comms import store
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.17",)

statements = store.statements
store.statements = lambda file: [
    text.replace("CREATE TABLE messages (", "CREATE TABLE messages (\n    extra TEXT,") for text in statements(file)
]


if __name__ == "__main__":
    serve({"comms": CommsBus})
