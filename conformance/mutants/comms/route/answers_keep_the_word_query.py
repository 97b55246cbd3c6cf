"""The answer to X.query is X.query.response."""

from refbus.comms import request
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.28",)

request.response_type = lambda request_type: f"{request_type}.response"


if __name__ == "__main__":
    serve({"comms": CommsBus})
