"""The archive is sorted by day alone."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import archive
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.07",)
ITEM = "corpus:good_forms"

WAS = "tree.ARCHIVE, date, agent, make=True"
IS = "tree.ARCHIVE, date, make=True"
SOURCE = inspect.getsource(archive.Archive._moved)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(archive))
archive.Archive._moved = archive._moved

if __name__ == "__main__":
    serve({"relay": RelayBus})
