"""An ack reaches nobody."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.14",)
ITEM = "corpus:routes"

WAS = "recipients = self._route.recipients(row.agent, message.to)"
IS = "recipients = [one for one in self._route.recipients(row.agent, message.to) if message.kind != 'ack']"
SOURCE = inspect.getsource(process.Processing._copies)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing._copies = process._copies

if __name__ == "__main__":
    serve({"relay": RelayBus})
