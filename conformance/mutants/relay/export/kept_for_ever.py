"""The archive grows for ever."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import archive
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.export.05",)
ITEM = "corpus:the_archive"

WAS = "for date in self._dates():"
IS = "for date in ():"
SOURCE = inspect.getsource(archive.Archive.rotate)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(archive))
archive.Archive.rotate = archive.rotate

if __name__ == "__main__":
    serve({"relay": RelayBus})
