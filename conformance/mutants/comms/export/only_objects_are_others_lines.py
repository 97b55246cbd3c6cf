"""Another program's line is taken for one only where it is a JSON object: any other is cut off as torn."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel import jsonl

KILLED_BY = ("comms.export.08",)

_is_ours = jsonl.JsonlFile._is_ours


def is_ours(self: Any, line: bytes) -> bool:
    return _is_ours(self, line) or not isinstance(jsonl._value_of(line), dict)


jsonl.JsonlFile._is_ours = is_ours  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"comms": CommsBus})
