"""A delivered file does not say who sent it."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.15", "relay.route.16")
ITEM = "corpus:routes"

WAS = 'f"FROM: {sender}\\nID: {id_}\\n".encode() + original'
IS = 'f"ID: {id_}\\n".encode() + original'
SOURCE = inspect.getsource(msgfile.format_copy)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
