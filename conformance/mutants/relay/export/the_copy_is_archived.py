"""An archived file has lost its last byte."""

import inspect
import os
import textwrap

from refbus.driver import serve
from refbus.relay import archive
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.export.07",)
ITEM = "corpus:the_archive"

WAS, IS = "os.chmod(kept, FILE_MODE, dir_fd=fd)", "shorten(kept, fd)"


def shorten(name: str, folder: int) -> None:
    """By a byte."""
    with open(name, "r+b", opener=lambda path, flags: os.open(path, flags, dir_fd=folder)) as file:
        file.truncate(max(0, os.fstat(file.fileno()).st_size - 1))


SOURCE = inspect.getsource(archive.Archive._moved)
assert WAS in SOURCE
vars(archive)["shorten"] = shorten
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(archive))
archive.Archive._moved = archive._moved

if __name__ == "__main__":
    serve({"relay": RelayBus})
