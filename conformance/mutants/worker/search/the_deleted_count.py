"""A message that another program deleted still counts towards a search's limit."""

from refbus.driver import serve
from refbus.worker import bus, search

KILLED_BY = ("worker.search.09",)


THERE = "AND (rowid IN (SELECT seq FROM messages) OR rowid IN (SELECT seq FROM archived_messages))"
assert THERE in search._MATCHING
search._MATCHING = search._MATCHING.replace(THERE, "")


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
