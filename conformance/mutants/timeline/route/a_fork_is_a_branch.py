"""The word of a Fork in a subject is branch."""

from refbus.driver import serve
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.10",)
ITEM = "corpus:keys_fork"

keys.TOKENS[keys.Fork] = "branch"
keys._KIND_OF_TOKEN["branch"] = keys.Fork


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
