"""A Response's subject ends in sequence and operation."""

from refbus.driver import serve
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.07",)
ITEM = "corpus:keys_response"

subject, parse = keys.subject, keys.parse


def turned(text: str) -> str:
    *start, one, other = text.split(".")
    return ".".join((*start, other, one)) if ".res." in text else text


keys.subject = lambda key: turned(subject(key))
keys.parse = lambda text: parse(turned(text) if isinstance(text, str) and "." in text else text)


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
