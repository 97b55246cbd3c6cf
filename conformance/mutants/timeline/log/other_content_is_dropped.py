"""Other content under a known key of a type that asks is dropped in silence."""

from refbus.driver import serve
from refbus.timeline import message
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.12",)
ITEM = "corpus:program_01"

own = message.Node.content.fget  # type: ignore[attr-defined]
ASKS = ("invoke", "req", "delegate")
message.Node.content = property(lambda node: _Anything() if node.subject.split(".")[3] in ASKS else own(node))  # type: ignore[assignment, method-assign]


class _Anything:
    """Is the same as the value it is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
