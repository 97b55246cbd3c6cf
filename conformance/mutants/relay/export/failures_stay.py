"""Failed files stay in the outbox."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import passes
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.export.02",)
ITEM = "corpus:the_archive"

WAS = "if self._store.config.archive:"
IS = "if not self._store.config.archive:"
SOURCE = inspect.getsource(passes.Passes._scan)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(passes))
passes.Passes._scan = passes._scan

if __name__ == "__main__":
    serve({"relay": RelayBus})
