"""A restore changes nothing, and forgets."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import export
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.export.09",)

WAS = "copy.backup(self._store.db.connection())"
IS = "self._store.db.connection().execute('DELETE FROM messages WHERE direction = \"outbox\"'.replace('\"', chr(39)))"
SOURCE = inspect.getsource(export.Export.restore)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(export))
export.Export.restore = export.restore

if __name__ == "__main__":
    serve({"relay": RelayBus})
