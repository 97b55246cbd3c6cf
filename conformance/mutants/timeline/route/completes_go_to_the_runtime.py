"""The Complete of an Invoke is addressed to its runtime."""

from dataclasses import replace

from refbus.driver import serve
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.11",)
ITEM = "corpus:program_03"

reply_key = keys.reply_key


def to_the_runtime(key: keys.Key, nonce: str | None = None) -> keys.Key:
    reply = reply_key(key, nonce)
    return replace(reply, harness=key.runtime) if isinstance(key, keys.Invoke) else reply


keys.reply_key = to_the_runtime


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
