"""Keys, subjects and filters over the door. Pure."""

from __future__ import annotations

from typing import Any, TypedDict

from refbus.kernel.verdict import verdict
from refbus.timeline import filters, keys


class Subject(TypedDict):
    """subject_of, filter_subject: as NATS knows it, and the name of the durable consumer."""

    subject: str
    consumer: str


class Keyed(TypedDict):
    """key_of, reply_key."""

    key: dict[str, Any]


class Matched(TypedDict):
    """matches."""

    matches: bool


class Route:
    """subject_of, key_of, reply_key, filter_subject and matches."""

    def subject_of(self, key: dict[str, Any], nonce: str | None = None) -> Subject:
        """The subject of a key. Errors: INVALID_ARGUMENT for a value that is no key."""
        meant = keys.from_dict(key)
        if nonce is not None:
            keys.check_nonce(meant, nonce)
        return {"subject": keys.subject(meant), "consumer": filters.exactly(meant).consumer}

    def key_of(self, subject: str) -> Keyed:
        """The key of a subject. Errors: INVALID_ARGUMENT for a text that is no key's."""
        return {"key": keys.as_dict(keys.parse(subject))}

    def reply_key(self, key: dict[str, Any], nonce: str | None = None) -> Keyed:
        """Where the answer goes. Errors: INVALID_ARGUMENT for a reply and a fork, which have none."""
        return {"key": keys.as_dict(keys.reply_key(keys.from_dict(key), nonce))}

    def filter_subject(self, filter: dict[str, Any], group: str | None = None) -> Subject:
        """The wildcard subject of a filter. Errors: INVALID_ARGUMENT."""
        meant = filters.from_dict(filter, group)
        return {"subject": meant.subject, "consumer": meant.consumer}

    def matches(self, filter: dict[str, Any], key: dict[str, Any]) -> Matched:
        """Does the filter mean the key? Errors: INVALID_ARGUMENT."""
        reply: Matched = {"matches": filters.from_dict(filter).matches(keys.from_dict(key))}
        return verdict(reply)
