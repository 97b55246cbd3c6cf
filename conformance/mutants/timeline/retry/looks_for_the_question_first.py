"""A call looks for its question, and then for the answer: another question and its answer may come in between."""

from refbus.driver import serve
from refbus.kernel.errors import IdConflict
from refbus.timeline import call, keys, token
from refbus.timeline.bus import TimelineBus
from refbus.timeline.message import Draft

KILLED_BY = ("timeline.retry.13",)
CHAOS = {"waits": True}


def recall(self: call.Calls, request: Draft) -> call.Answer | None:
    nonce = None if request.nonce is None else token.decode(request.nonce)
    for span in self.lineage.sight(request.key.timeline):
        before = self.lineage.find(span, request.key, nonce)
        known = self.lineage.find(span, keys.reply_key(request.key, nonce))
        if before is not None and before.payload != request.payload:
            raise IdConflict("this key has other content")
        if known is not None:
            return call._answer(known, replayed=True)
        if before is not None:
            return None
    return None


call.Calls.recall = recall  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
