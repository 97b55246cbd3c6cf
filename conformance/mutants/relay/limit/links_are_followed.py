"""A symlink to a message is a message."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import tree
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.09",)
ITEM = "corpus:odd_things"

WAS = "follow_symlinks=False"
IS = "follow_symlinks=True"
SOURCE = inspect.getsource(tree.look)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(tree))

if __name__ == "__main__":
    serve({"relay": RelayBus})
