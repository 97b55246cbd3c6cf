"""status does not count delivered files."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import status
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.export.12",)
ITEM = "corpus:the_archive"

WAS = "FROM messages GROUP BY status"
IS = "FROM messages WHERE direction = 'outbox' GROUP BY status"
SOURCE = inspect.getsource(status.Status.status)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(status))
status.Status.status = status.status

if __name__ == "__main__":
    serve({"relay": RelayBus})
