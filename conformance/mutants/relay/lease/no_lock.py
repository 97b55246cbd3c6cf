"""Nothing keeps a second orchestrator out."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import lock
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.lease.01",)

WAS = "fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)"
IS = "fcntl.flock(fd, fcntl.LOCK_UN)\n                os.ftruncate(fd, 0)"
SOURCE = inspect.getsource(lock.Lock.take)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(lock))
lock.Lock.take = lock.take

if __name__ == "__main__":
    serve({"relay": RelayBus})
