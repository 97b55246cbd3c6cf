"""A name of 200 characters passes, whatever its bytes."""

from refbus.driver import serve
from refbus.timeline import token
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.26",)
ITEM = "corpus:program_05"

name = token.name


def in_characters(what: str, value: object) -> str:
    if isinstance(value, str) and 0 < len(value) <= token.NAME_BYTES_MAX and value.isprintable():
        return value
    return name(what, value)


token.name = in_characters
del TimelineBus.LIMITS["name_bytes_max"]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
