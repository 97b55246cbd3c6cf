"""All delegations to one target within a submission have the same reply key."""

from dataclasses import replace

from refbus.driver import serve
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.15",)
ITEM = "corpus:keys_delegate"

reply_key = keys.reply_key


def without_nonce(key: keys.Key, nonce: str | None = None) -> keys.Key:
    reply = reply_key(key, nonce)
    return replace(reply, nonce="0") if isinstance(reply, keys.DelegateReply) else reply


keys.reply_key = without_nonce


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
