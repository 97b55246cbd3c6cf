"""What is archived has lost its last byte."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import archive
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.export.07",)
ITEM = "corpus:the_archive"

WAS = "os.chmod(kept, FILE_MODE, dir_fd=fd)"
IS = "os.truncate(file := os.open(kept, os.O_RDWR, dir_fd=fd), max(0, stat.size - 1))\n                os.close(file)"
SOURCE = inspect.getsource(archive.Archive.move)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(archive))
archive.Archive.move = archive.move

if __name__ == "__main__":
    serve({"relay": RelayBus})
