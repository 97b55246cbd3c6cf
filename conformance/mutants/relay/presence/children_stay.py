"""A release ends one process."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import processes
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.28",)

WAS = "left = members(targets)\n        foreign = _signal(left, signal.SIGTERM)"
IS = "left = []\n        foreign = _signal([target.pid for target in targets if target.pid], signal.SIGTERM)"
SOURCE = inspect.getsource(processes.Processes.end)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(processes))
processes.Processes.end = processes.end

if __name__ == "__main__":
    serve({"relay": RelayBus})
