"""In a subject the submission stands before the timeline."""

from refbus.driver import serve
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.03",)
ITEM = "corpus:keys_complete"

subject = keys.subject


def turned(key: keys.Key) -> str:
    root, timeline, submission, *rest = subject(key).split(".")
    return ".".join((root, submission, timeline, *rest))


keys.subject = turned


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
