"""Answers of `topics` that leave a choice: which of several right ones a bus may give."""

from __future__ import annotations

import functools
import re
import time
import unicodedata
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from busproof.oracle.models.spec import plain

SLACK_S = 0.001  # of sums of floats


class Named(Protocol):
    """A topic, as a result tells it."""

    name: Any


class Said(Protocol):
    """A message, as a result tells it."""

    topic_id: Any
    message_id: Any
    seq: int
    sender: str
    message_type: str
    content_markdown: str
    created_at: Any


class Peers:
    """Is a list of peers one that may be given? A reply tells its own now; for an empty one it is the time of judging.

    A peer whose time is not known may be told with any, or be missing.
    """

    def __init__(self, peers: Mapping[str, tuple[int, float | None]], window_s: float, limit: int) -> None:
        self.peers, self.window_s, self.limit = peers, window_s, limit

    def __call__(self, peers: Any) -> bool:
        if type(peers) is not list or not all(map(self.is_told_right, peers)):
            return False
        names = [peer["agent_name"] for peer in peers]
        order = [-peer["updated_at"] for peer in peers]
        if len(set(names)) != len(names) or len(names) > self.limit or order != sorted(order):
            return False
        now = min((peer["updated_at"] + peer["age_seconds"] for peer in peers), default=time.time())
        if any(abs(max(0.0, now - peer["updated_at"]) - peer["age_seconds"]) > SLACK_S for peer in peers):
            return False  # ages of several moments; of one in the future, the age is 0
        missing = [at for name, (_, at) in self.peers.items() if name not in names and at is not None]
        if len(names) == self.limit:
            return all(-at >= order[-1] for at in missing)
        return all(now - at >= self.window_s - SLACK_S for at in missing)

    def is_told_right(self, peer: dict[str, Any]) -> bool:
        """A reader that was active within the window, with its cursor and its time."""
        last_seq, at = self.peers.get(peer["agent_name"], (None, 0.0))
        return bool(
            peer["last_seq"] == last_seq
            and (at is None or abs(peer["updated_at"] - at) < SLACK_S)
            and 0 <= peer["age_seconds"] <= self.window_s + SLACK_S
        )


Place = tuple[Any, int]  # a message's topic, and its seq there


class Results:
    """Is a list of results one that may be given: all of `found`, and any of `others` that a model thinks near?

    They are compared by place: the id and the time of a message are unknown if its sender got no answer.
    """

    def __init__(
        self,
        sure: Mapping[Place, tuple[Named, Said]],
        limit: int,
        with_content: bool,
        others: Mapping[Place, tuple[Named, Said]] = MappingProxyType({}),
    ) -> None:
        self.sure, self.limit, self.with_content = sure, limit, with_content
        self.possible = {**others, **sure}

    def __call__(self, results: Any) -> bool:
        if type(results) is not list or len(results) > self.limit or not all(map(self.is_told_right, results)):
            return False
        ids, places = {row["message_id"] for row in results}, {(row["topic_id"], row["seq"]) for row in results}
        is_once = len(ids) == len(places) == len(results)
        return is_once and (len(places) == self.limit or self.sure.keys() <= places)

    def is_told_right(self, result: dict[str, Any]) -> bool:
        """One of the messages that may be found, with its own fields."""
        topic, message = self.possible.get((result.get("topic_id"), result.get("seq", 0)), (None, None))
        if topic is None or message is None:
            return False
        content, chosen = result.get("content_markdown"), ("message_id", "created_at")
        return (
            all(getattr(message, name) == result.get(name) for name in ("sender", "message_type"))
            and all(plain(getattr(message, name)) in (None, result.get(name)) for name in chosen)
            and all(result.get(name) is not None for name in chosen)
            and result.get("topic_name") == plain(topic.name)
            and content == (message.content_markdown if self.with_content else None)
            and is_snippet(result.get("snippet"), message.content_markdown)
        )


def is_snippet(snippet: Any, body: str) -> bool:
    """A part of the body, white space folded, with an ellipsis where it was cut. Marks are another row's (B11)."""
    if type(snippet) is not str or not (snippet or body.isspace()):
        return False
    return re.sub("[…\ue000\ue001]", "", snippet).strip() in " ".join(body.split())


def folded(text: str) -> str:
    """The text without case and marks: nobody says that an index may not take two such words for one."""
    return "".join(char for char in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(char))


@functools.lru_cache(1024)  # the same bodies, at each search
def tokens(text: str, form: Callable[[str], str] = str.lower) -> tuple[str, ...]:
    """Words as a full-text index splits them: letters and digits, with their marks."""
    return tuple(re.findall(r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*", form(text)))


def holds(body: str, words: list[str], form: Callable[[str], str] = str.lower) -> bool:
    """Does the body hold each word, its parts side by side?"""
    there, phrases = tokens(body, form), [phrase for word in words if (phrase := tokens(word, form))]
    return bool(phrases) and all(
        any(there[at : at + len(phrase)] == phrase for at in range(len(there))) for phrase in phrases
    )
