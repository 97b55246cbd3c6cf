"""Each tool's reply in words: for clients that show a model only text, everything it needs to go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from refbus.topics.search import NO_MODEL
from refbus.topics.shown import line, name, quoted, title, when

BODY_CHARS_SHOWN = 64_000
LINES_SHOWN = 50

Reply = dict[str, Any]


def of(tool: str, reply: Reply) -> str:
    """The text of a tool's reply; its warnings come first, so that nothing hides them."""
    warnings = [
        line(f"Warning {warning['code']}: {warning.get('message', '')}")
        for warning in reply.get("warnings", ())
        if not _is_usual(reply, warning)
    ]
    return "\n".join([*warnings, *_TEXTS[tool](reply)])


def _is_usual(reply: Reply, warning: Reply) -> bool:
    """Most servers have no model: the first line of a default search says how it was made, and that is enough."""
    return reply.get("mode") == "hybrid" and str(warning.get("message")).startswith(NO_MODEL)


def _ping(reply: Reply) -> Iterable[str]:
    yield f"pong (spec {reply['spec_version']}, package {reply['package_version']})"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _topic(reply: Reply) -> Iterable[str]:
    yield f"Topic {title(reply['name'])}: topic_id={reply['topic_id']} status={reply['status']}"


def _topics(reply: Reply) -> Iterable[str]:
    yield _counted(len(reply["topics"]), "topic")
    yield from _shortened(
        f"- {title(topic['name'])}: topic_id={topic['topic_id']} status={topic['status']}" for topic in reply["topics"]
    )


def _closed(reply: Reply) -> Iterable[str]:
    has_reason = reply["close_reason"] is not None
    yield f"Topic {reply['topic_id']} is closed since {when(reply['closed_at'])}.{' reason:' if has_reason else ''}"
    if has_reason:
        yield _body(reply["close_reason"])


def _joined(reply: Reply) -> Iterable[str]:
    topic = f"{title(reply['name'])} (topic_id={reply['topic_id']}, {reply['status']})"
    yield f"Joined topic {topic} as {name(reply['agent_name'])}."
    yield f"reclaim_token={reply['reclaim_token']}"


def _presence(reply: Reply) -> Iterable[str]:
    yield f"{_counted(reply['count'], 'peer')} synced in the last {reply['window_seconds']} s"
    yield from _shortened(
        f"- {name(peer['agent_name'])}: {peer['age_seconds']:.1f} s ago, has read up to {peer['last_seq']}"
        for peer in reply["peers"]
    )


def _cursor(reply: Reply) -> Iterable[str]:
    yield f"The cursor of {name(reply['agent_name'])} stands at {reply['cursor']['last_seq']}."


def _found(reply: Reply) -> Iterable[str]:
    is_by_words = any(_is_usual(reply, warning) for warning in reply.get("warnings", ()))
    yield f"{_counted(reply['count'], 'result')} ({'by words' if is_by_words else reply['mode']})"
    for result in reply["results"]:
        yield f"- {title(result['topic_name'])} (topic_id={result['topic_id']}) {_header(result)}"
        yield _body(result.get("content_markdown", result["snippet"]))


def _synced(reply: Reply) -> Iterable[str]:
    yield (
        f"{reply['status']}: {reply['received_count']} received, {len(reply['sent'])} sent, "
        f"cursor at {reply['cursor']['last_seq']}{', more to come: sync again' if reply['has_more'] else ''}"
    )
    for record in reply["sent"]:
        stored = "stored before as" if record["duplicate"] else "sent"
        yield f"{stored} [{record['message']['seq']}] id={record['message']['message_id']}"
    for message in reply["received"]:
        yield ""
        yield _header(message)
        yield _body(message["content_markdown"])


def _header(message: Reply) -> str:
    sender, kind = name(message["sender"]), name(message["message_type"])
    reply_to = f" reply_to={message['reply_to']}" if message.get("reply_to") else ""
    return line(f"[{message['seq']}] {sender} ({kind}) id={message['message_id']}{reply_to}")


def _body(body: str) -> str:
    if len(body) <= BODY_CHARS_SHOWN:
        return quoted(body)
    return f"{quoted(body[:BODY_CHARS_SHOWN])}\n… ({len(body)} characters, the rest is in the structured content)"


def _shortened(lines: Iterable[str]) -> Iterable[str]:
    whole = list(lines)
    yield from whole[:LINES_SHOWN]
    if len(whole) > LINES_SHOWN:
        yield f"… and {len(whole) - LINES_SHOWN} more"


_TEXTS: dict[str, Callable[[Reply], Iterable[str]]] = {
    "ping": _ping,
    "topic_create": _topic,
    "topic_list": _topics,
    "topic_resolve": _topic,
    "topic_close": _closed,
    "topic_join": _joined,
    "topic_presence": _presence,
    "cursor_reset": _cursor,
    "messages_search": _found,
    "sync": _synced,
}
