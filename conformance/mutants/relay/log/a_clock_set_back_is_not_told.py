"""A clock that was set back leaves no record."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import passes
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.52",)
ITEM = "corpus:order"

WAS = "if self._last_ms is not None and now_ms < self._last_ms:"
IS = "if self._last_ms is None and now_ms < 0:"
SOURCE = inspect.getsource(passes.Passes._notice_clock)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(passes))
passes.Passes._notice_clock = passes._notice_clock

if __name__ == "__main__":
    serve({"relay": RelayBus})
