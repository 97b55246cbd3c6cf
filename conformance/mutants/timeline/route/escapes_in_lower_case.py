"""Escapes are written with lower-case digits."""

import re

from refbus.driver import serve
from refbus.timeline import token
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.21",)
ITEM = "corpus:names"

encode = token.encode


def in_lower_case(text: str) -> str:
    return re.sub("%..", lambda found: found[0].lower(), encode(text))


token.encode = in_lower_case  # type: ignore[assignment]
token._TOKEN = re.compile(token._TOKEN.pattern.replace("0-9A-F", "0-9a-f"), re.ASCII)


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
