"""Whole numbers in payloads become doubles."""

import json
from types import SimpleNamespace

from refbus.driver import serve
from refbus.timeline import message
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.10",)
ITEM = "corpus:program_01"

decode = message.jsontext.decode
message.jsontext = SimpleNamespace(  # type: ignore[assignment]
    **{name: getattr(message.jsontext, name) for name in ("encode", "canonical")},
    decode=lambda text: json.loads(text, parse_int=lambda digits: int(float(digits))),
)


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
