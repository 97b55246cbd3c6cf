"""An answer from the record is told as a fresh one."""

from refbus.driver import serve
from refbus.timeline import call
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.retry.08",)
ITEM = "corpus:sent_twice"

answer = call._answer
call._answer = lambda node, replayed: answer(node, replayed=False)


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
