"""Only the first agent's outbox is looked at."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.04", "relay.cursor.01")
ITEM = "corpus:good_forms"

WAS = "for agent in agents for file"
IS = "for agent in list(agents)[:1] for file"
SOURCE = inspect.getsource(scan.Scanner.scan)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner.scan = scan.scan

if __name__ == "__main__":
    serve({"relay": RelayBus})
