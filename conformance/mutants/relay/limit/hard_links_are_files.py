"""A file with two names is taken."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import tree
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.12",)
ITEM = "corpus:odd_things"

WAS = "found.st_nlink > 1"
IS = "found.st_nlink > 2"
SOURCE = inspect.getsource(tree.refusal)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(tree))

if __name__ == "__main__":
    serve({"relay": RelayBus})
