"""Operations are never marked as done."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import deliver
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.lease.07",)

WAS = "end(tx, operation)"
IS = "tx.now_ms"
SOURCE = inspect.getsource(deliver.Delivery.complete)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(deliver))
deliver.Delivery.complete = deliver.complete

if __name__ == "__main__":
    serve({"relay": RelayBus})
