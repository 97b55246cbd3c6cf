"""Names in an inbox follow the clock back."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import deliver
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.18",)
ITEM = "corpus:order"

WAS = "max(tx.now_us * 1_000, newest + 1)"
IS = "tx.now_us * 1_000"
SOURCE = inspect.getsource(deliver.Delivery._free_name)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(deliver))
deliver.Delivery._free_name = deliver._free_name

if __name__ == "__main__":
    serve({"relay": RelayBus})
