"""The table dead_letter_queue is not the seed's."""

from refbus.comms import store
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.20",)

statements = store.statements
store.statements = lambda file: [
    text.replace("CREATE TABLE dead_letter_queue (", "CREATE TABLE dead_letter_queue (\n    extra TEXT,")
    for text in statements(file)
]


if __name__ == "__main__":
    serve({"comms": CommsBus})
