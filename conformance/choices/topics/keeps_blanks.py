"""Blanks around a name, a type and a client_message_id are kept (decision 0015)."""

from refbus.kernel.rules import limit
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main


def kept(what: str, value: object, chars_max: int = limit.TEXT_CHARS_MAX) -> str:
    text = limit.text(what, value, chars_max)
    limit.text(what, text.strip())
    return text


limit.stripped = kept

if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
