"""Of one priority and one moment the last sent comes first."""

from refbus.comms import route
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.10",)

rank = route._rank
route._rank = lambda row: (*rank(row)[:2], -row[0])


if __name__ == "__main__":
    serve({"comms": CommsBus})
