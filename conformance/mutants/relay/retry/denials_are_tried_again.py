"""A bad request is tried again."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.retry.07",)
ITEM = "corpus:routes"

WAS = "is_retried = failure.is_transient and"
IS = "is_retried = (failure.is_transient or 'bad' in str(failure)) and"
SOURCE = inspect.getsource(process.Processing._fail)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing._fail = process._fail

if __name__ == "__main__":
    serve({"relay": RelayBus})
