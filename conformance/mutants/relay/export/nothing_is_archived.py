"""Completed files stay in the outbox."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.export.01", "relay.export.04")
ITEM = "corpus:no_archive"

WAS = "if not config.archive:"
IS = "if config.archive:"
SOURCE = inspect.getsource(process.Processing._put_away)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing._put_away = process._put_away

if __name__ == "__main__":
    serve({"relay": RelayBus})
