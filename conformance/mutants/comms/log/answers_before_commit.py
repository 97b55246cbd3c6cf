"""Send_message is answered, then committed. A kill between the two loses an acknowledged message."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.72",)
CHAOS = {"kills": 16}


class AnswersBeforeCommit(CommsBus):
    """Keeps each message until the next call."""

    _waiting: dict[str, Any] | None = None

    def send_message(self, **message: Any) -> dict[str, Any]:
        self._write_what_waits()
        if "message_id" not in message:
            return super().send_message(**message)
        self._waiting = message
        return {"message_id": message["message_id"]}

    def receive_messages(self, **how: Any) -> dict[str, Any]:
        self._write_what_waits()
        return super().receive_messages(**how)

    def _write_what_waits(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            super().send_message(**waiting)


if __name__ == "__main__":
    serve({"comms": AnswersBeforeCommit})
