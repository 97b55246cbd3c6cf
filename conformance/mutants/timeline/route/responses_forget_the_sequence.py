"""Responses to all requests of one operation have the same key."""

from dataclasses import replace

from refbus.driver import serve
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.12",)
ITEM = "corpus:keys_request"

reply_key = keys.reply_key


def without_sequence(key: keys.Key, nonce: str | None = None) -> keys.Key:
    reply = reply_key(key, nonce)
    return replace(reply, sequence=0) if isinstance(reply, keys.Response) else reply


keys.reply_key = without_sequence


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
