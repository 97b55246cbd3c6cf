"""Completing a finished message is refused."""

import inspect
import textwrap

from refbus.comms import lease
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.07",)

WAS = 'return {"status": before.status}'
IS = 'raise NotClaimed("it is over")'
SOURCE = inspect.getsource(lease.Leases.complete_message)
assert WAS in SOURCE
space: dict[str, object] = {}
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(lease), space)
lease.Leases.complete_message = space["complete_message"]  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    serve({"comms": CommsBus})
