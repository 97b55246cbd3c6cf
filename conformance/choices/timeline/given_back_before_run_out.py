"""Among messages that came back, fetch gives those that were given back, by age, before those that ran out."""

from refbus.driver import serve
from refbus.timeline import sqlite
from refbus.timeline.bus import TimelineBus

AGE, GIVEN_BACK_FIRST = "ORDER BY position LIMIT 1", "ORDER BY visible_at_us, position LIMIT 1"
assert AGE in sqlite._DUE
sqlite._DUE = sqlite._DUE.replace(AGE, GIVEN_BACK_FIRST)

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
