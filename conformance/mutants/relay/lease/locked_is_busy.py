"""A second orchestrator is told that the ledger is busy."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import lock
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.lease.02",)

WAS = 'raise Locked(f"another orchestrator holds {self._path}") from None'
IS = 'from refbus.kernel.errors import Busy\n\n                raise Busy("wait") from None'
SOURCE = inspect.getsource(lock.Lock.take)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(lock))
lock.Lock.take = lock.take

if __name__ == "__main__":
    serve({"relay": RelayBus})
