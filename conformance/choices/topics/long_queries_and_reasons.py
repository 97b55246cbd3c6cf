"""A query and a reason may be as long as they like: no sentence bounds them (docs/spec/topics.md, Limits)."""

from refbus.kernel.rules import limit
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

body = limit.body


def unbounded(what: str, value: object, chars_max: int) -> str:
    return body(what, value, 10**6 if what in ("query", "reason") else chars_max)


limit.body = unbounded

if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
