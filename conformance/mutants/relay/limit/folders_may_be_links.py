"""A link in the place of a folder is followed."""

import os

from refbus.driver import serve
from refbus.relay import tree
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.15",)


tree._FOLDER &= ~os.O_NOFOLLOW


if __name__ == "__main__":
    serve({"relay": RelayBus})
