"""The door of a `mailbox` bus with a choice of promises: `python -m refbus.mailbox ack jobs unread_max=50`."""

import sys

from refbus.driver import serve
from refbus.mailbox.bus import promising

if __name__ == "__main__":
    serve({"mailbox": promising(*sys.argv[1:])})
