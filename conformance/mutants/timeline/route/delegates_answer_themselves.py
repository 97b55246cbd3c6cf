"""The DelegateReply goes from the target to itself."""

from dataclasses import replace

from refbus.driver import serve
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.13",)
ITEM = "corpus:program_03"

reply_key = keys.reply_key


def to_the_target(key: keys.Key, nonce: str | None = None) -> keys.Key:
    reply = reply_key(key, nonce)
    return replace(reply, caller=reply.target) if isinstance(reply, keys.DelegateReply) else reply


keys.reply_key = to_the_target


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
