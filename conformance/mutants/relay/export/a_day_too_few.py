"""A day of exactly the retention goes."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import archive
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.export.06",)
ITEM = "corpus:the_archive"

WAS = "(date >= oldest and"
IS = "(date > oldest and"
SOURCE = inspect.getsource(archive.Archive.rotate)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(archive))
archive.Archive.rotate = archive.rotate

if __name__ == "__main__":
    serve({"relay": RelayBus})
