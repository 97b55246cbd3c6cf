"""The clean-up says that it removed nothing."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.39",)


class Mutant(CommsBus):
    def cleanup_expired_messages(self) -> dict[str, Any]:
        super().cleanup_expired_messages()
        return {"deleted": 0}


if __name__ == "__main__":
    serve({"comms": Mutant})
