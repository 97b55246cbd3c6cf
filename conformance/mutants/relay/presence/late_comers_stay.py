"""An agent's end ends only the processes that were there when it began."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import processes
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.36",)

WAS = "            left = members(targets)\n"
IS = "            left = [pid for pid in left if process.find(pid) is not None]\n"
SOURCE = inspect.getsource(processes.Processes.end)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(processes))
processes.Processes.end = processes.end

if __name__ == "__main__":
    serve({"relay": RelayBus})
