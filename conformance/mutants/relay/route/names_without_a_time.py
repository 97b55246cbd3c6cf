"""A delivered file is named by its uuid alone."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import names
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.17",)
ITEM = "corpus:routes"

WAS = 'f"{at_ns:019}-{of}{SUFFIX}"'
IS = 'f"{at_ns:019}_{of}{SUFFIX}"'
SOURCE = inspect.getsource(names.file_name)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(names))

if __name__ == "__main__":
    serve({"relay": RelayBus})
