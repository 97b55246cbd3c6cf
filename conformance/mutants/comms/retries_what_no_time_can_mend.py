"""A bad argument is tried again."""

from refbus.comms import retry
from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument

KILLED_BY = ("comms.retry.21",)


class NeverRaised(InvalidArgument):
    pass


retry.InvalidArgument = NeverRaised


if __name__ == "__main__":
    serve({"comms": CommsBus})
