"""send takes an answer, too."""

from refbus.driver import serve
from refbus.timeline import keys, log
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.15",)
ITEM = "corpus:program_02"

log.Invoke = log.Invoke | keys.Complete | keys.Response | keys.DelegateReply  # type: ignore[misc, assignment]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
