"""An agent's folder is open to others."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import tree
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.06",)

WAS = "os.fchmod(own, FOLDER_MODE)"
IS = "os.fchmod(own, 0o755)"
SOURCE = inspect.getsource(tree.make_agent)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(tree))

if __name__ == "__main__":
    serve({"relay": RelayBus})
