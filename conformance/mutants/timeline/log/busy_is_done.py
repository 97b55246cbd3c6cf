"""A send that never got the lock is answered as done."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import Busy
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.35",)


class Mutant(TimelineBus):
    """It will be there soon."""

    def send(self, key: Any, **params: Any) -> Any:
        try:
            return super().send(key, **params)
        except Busy:
            return {"subject": self.subject_of(key)["subject"], "number": 2, "hash": "0" * 64, "duplicate": False}


if __name__ == "__main__":
    serve({"timeline": Mutant})
