"""The folder of the artifacts is made when it is needed."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.26",)


class Mutant(CommsBus):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not any(self.store.artifacts.iterdir()):
            self.store.artifacts.rmdir()


if __name__ == "__main__":
    serve({"comms": Mutant})
