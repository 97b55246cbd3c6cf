"""A symbolic link leads out of the artifacts (C9)."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.blob.08", "comms.blob.09")


class Mutant(CommsBus):
    def _refuse_links(self, path: Any) -> None:
        return


if __name__ == "__main__":
    serve({"comms": Mutant})
