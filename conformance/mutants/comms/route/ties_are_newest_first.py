"""Among messages of one priority and one moment the last sent comes first."""

from refbus.comms import route
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.10",)
RULE, FAULT = "ORDER BY priority DESC, timestamp, number", "ORDER BY priority DESC, timestamp, number DESC"

assert RULE in route._READY and RULE in route._DUE_AGAIN
route._READY, route._DUE_AGAIN = (text.replace(RULE, FAULT) for text in (route._READY, route._DUE_AGAIN))
rank = route._rank
route._rank = lambda row: (*rank(row)[:2], -row[0])


if __name__ == "__main__":
    serve({"comms": CommsBus})
