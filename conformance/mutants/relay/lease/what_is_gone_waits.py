"""A pending row whose file is gone waits."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.lease.09",)
ITEM = "corpus:changes"

WAS = 'raise Failure("file_disappeared") from error'
IS = '(later := Failure("file_disappeared")).is_transient = True\n            raise later from error'
SOURCE = inspect.getsource(process.Processing._read)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing._read = process._read

if __name__ == "__main__":
    serve({"relay": RelayBus})
