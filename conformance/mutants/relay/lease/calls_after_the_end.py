"""A call after close is answered."""

import inspect
import textwrap

from refbus import driver
from refbus.driver import serve
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.lease.13",)
ITEM = "corpus:in_hand"


WAS, IS = 'raise NotOpen("no store is open")', "return {}"
SOURCE = inspect.getsource(driver.Driver._call)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(driver))
driver.Driver._call = driver._call


if __name__ == "__main__":
    serve({"relay": RelayBus})
