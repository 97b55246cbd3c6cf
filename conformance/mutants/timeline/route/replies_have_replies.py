"""A reply is answered under its own key."""

from refbus.driver import serve
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.14",)
ITEM = "corpus:keys_complete"

reply_key = keys.reply_key


def of_anything(key: keys.Key, nonce: str | None = None) -> keys.Key:
    if isinstance(key, keys.Complete | keys.Response | keys.Fork):
        return key
    return reply_key(key, nonce)


keys.reply_key = of_anything


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
