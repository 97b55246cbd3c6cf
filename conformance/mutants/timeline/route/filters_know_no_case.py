"""A filter matches names in any letter case."""

from refbus.driver import serve
from refbus.timeline import filters, keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.25",)
ITEM = "corpus:near_misses"


def folded(wanted: filters.Filter, key: keys.Key) -> bool:
    values = (keys.value_token(getattr(key, name)) for name in keys.DIMENSIONS[type(key)])
    return type(key) is wanted.kind and all(
        one is None or one.casefold() == other.casefold() for one, other in zip(wanted.tokens, values, strict=True)
    )


filters.Filter.matches = folded  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
