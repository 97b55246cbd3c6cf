"""A request is answered, then sent: a kill between the two loses an acknowledged message."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.42",)
CHAOS = {"kills": 16}
CONTROL = "retry.time_out"


class AnswersBeforeCommit(TimelineBus):
    """Sends each message with the next call of any kind, and guesses its number."""

    _waiting: tuple[Any, ...] | None = None

    def send(self, key: dict[str, Any], payload: Any = None, nonce: str | None = None) -> Any:
        self._send_what_waits()
        sent = super().send(key, payload, nonce)
        if sent["duplicate"] or sent["number"] == 1:
            return sent
        self.store.queue.store.db.write("DELETE FROM messages WHERE hash = ?", (sent["hash"],))  # type: ignore[attr-defined]
        self.store.queue.store.db.write(  # type: ignore[attr-defined]
            "UPDATE timelines SET number = number - 1, hash = (SELECT m.hash FROM messages AS m WHERE"
            " m.timeline = timelines.timeline AND m.number = timelines.number - 1) WHERE hash = ?",
            (sent["hash"],),
        )
        self._waiting = (key, payload, nonce)
        return sent

    def log(self, *args: Any, **how: Any) -> Any:
        self._send_what_waits()
        return super().log(*args, **how)

    def _send_what_waits(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            super().send(*waiting)


if __name__ == "__main__":
    serve({"timeline": AnswersBeforeCommit})
