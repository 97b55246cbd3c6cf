"""An answer may refer to any file."""

from refbus.comms import request
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.31",)

request.ARTIFACTS = ""


if __name__ == "__main__":
    serve({"comms": CommsBus})
