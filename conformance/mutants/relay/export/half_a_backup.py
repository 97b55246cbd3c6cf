"""A backup has no rows."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import export
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.export.08",)

WAS = 'copy.execute("PRAGMA journal_mode = DELETE")'
IS = 'copy.execute("DELETE FROM messages")\n                    copy.commit()'
SOURCE = inspect.getsource(export.Export.backup)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(export))
export.Export.backup = export.backup

if __name__ == "__main__":
    serve({"relay": RelayBus})
