"""Escapes are written with lower-case digits."""

import re

from refbus.driver import serve
from refbus.timeline import token
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.21",)
ITEM = "corpus:names"

encode, decode = token.encode, token.decode


def in_lower_case(text: str) -> str:
    return re.sub("%..", lambda found: found[0].lower(), encode(text))


token.encode = in_lower_case  # type: ignore[assignment]
token.decode = lambda written: decode(re.sub("%..", lambda found: found[0].upper(), written))  # type: ignore[assignment]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
