"""A name is taken without the blanks around it, so two keys are one."""

from refbus.driver import serve
from refbus.timeline import token
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.02",)
ITEM = "corpus:program_05"

encode = token.encode
token.encode = lambda text: encode(text.strip() or text)  # type: ignore[assignment]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
