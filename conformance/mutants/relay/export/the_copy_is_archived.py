"""What is archived has lost its last byte."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import archive
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.export.07",)
ITEM = "corpus:the_archive"

WAS = "os.chmod(kept, FILE_MODE, dir_fd=fd)"
IS = """with open(kept, "r+b", opener=lambda path, flags: os.open(path, flags, dir_fd=fd)) as file:
                    file.truncate(max(0, os.fstat(file.fileno()).st_size - 1))"""
SOURCE = inspect.getsource(archive.Archive._moved)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(archive))
archive.Archive._moved = archive._moved

if __name__ == "__main__":
    serve({"relay": RelayBus})
