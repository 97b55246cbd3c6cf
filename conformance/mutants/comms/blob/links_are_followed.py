"""A symbolic link leads out of the artifacts (C9)."""

from typing import Any

from refbus.comms import bus
from refbus.comms.blob import Artifacts
from refbus.driver import serve

KILLED_BY = ("comms.blob.08", "comms.blob.09")


class Mutant(Artifacts):
    def refuse_links(self, path: Any) -> None:
        return


bus.Artifacts = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
