"""A send that was refused is recorded all the same, as another submission's."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import IdConflict
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.25", "timeline.log.31")


class Mutant(TimelineBus):
    """Keeps messages that it did not take."""

    def send(self, key: Any, **params: Any) -> Any:
        try:
            return super().send(key, **params)
        except IdConflict:
            super().send({**key, "submission": f"{key['submission']}-failed"}, **params)
            raise


if __name__ == "__main__":
    serve({"timeline": Mutant})
