"""A redriven message leaves the dead letters, and is a message again a moment later: meanwhile it is nowhere."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.comms.retry import Retries
from refbus.driver import serve

KILLED_BY = ("comms.retry.29",)

put_back = Retries.put_back
late: list[Any] = []


def later(self: Retries, _tx: Any, *args: Any, **how: Any) -> None:
    late.append((self, args, how))


class Mutant(CommsBus):
    def redrive(self, *args: Any, **how: Any) -> Any:
        reply = super().redrive(*args, **how)
        with self.store.transaction() as tx:
            while late:
                noun, told, named = late.pop()
                put_back(noun, tx, *told, **named)
        return reply


Retries.put_back = later  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"comms": Mutant})
