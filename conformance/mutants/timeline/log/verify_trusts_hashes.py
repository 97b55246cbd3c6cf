"""verify follows the chain, but does not compute a hash anew."""

from refbus.driver import serve
from refbus.timeline import verify
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.21",)

verify.link = lambda *fields: _Any()  # type: ignore[assignment]


class _Any(str):
    """Equals anything."""

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
