"""Delivered files are open to others."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import deliver
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.08",)

WAS = "dir_fd=fd)\n"
IS = "dir_fd=fd)\n        os.fchmod(file, 0o644)\n"
SOURCE = inspect.getsource(deliver.Delivery._write)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(deliver))
deliver.Delivery._write = deliver._write

if __name__ == "__main__":
    serve({"relay": RelayBus})
