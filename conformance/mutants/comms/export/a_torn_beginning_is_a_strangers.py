"""A line of its own that was torn in its first letters is taken for another program's, and stays for good."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.jsonl import JsonlFile

KILLED_BY = ("comms.export.10",)

JsonlFile._is_ours = lambda self, line: line.startswith(self._own_start)  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"comms": CommsBus})
