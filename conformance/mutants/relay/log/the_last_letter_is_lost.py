"""A delivered copy lacks the last letter of its body."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.68",)

WAS = "msgfile.format_copy(row.agent, row.message_id, data)"
IS = "msgfile.format_copy(row.agent, row.message_id, data)[:-1]"
SOURCE = inspect.getsource(process.Processing._copies)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing._copies = process._copies

if __name__ == "__main__":
    serve({"relay": RelayBus})
