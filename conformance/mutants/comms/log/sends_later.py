"""A send is kept in memory until its process receives."""

import uuid
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.16",)
CONTROL = "log.unique_ids"


class Mutant(CommsBus):
    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        kwargs.setdefault("message_id", str(uuid.uuid4()))
        self.__dict__.setdefault("kept", []).append((args, kwargs))
        return {"message_id": kwargs["message_id"]}

    def receive_messages(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        for its_args, its_kwargs in self.__dict__.pop("kept", []):
            super().send_message(*its_args, **its_kwargs)
        return super().receive_messages(*args, **kwargs)


if __name__ == "__main__":
    serve({"comms": Mutant})
