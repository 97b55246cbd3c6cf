"""A delivered file is a row of direction outbox."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import deliver
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.20",)
ITEM = "corpus:good_forms"

WAS = "'inbox', ?"
IS = "'outbox', ?"
SOURCE = inspect.getsource(deliver.Delivery.record)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(deliver))
deliver.Delivery.record = deliver.record

if __name__ == "__main__":
    serve({"relay": RelayBus})
