"""A call with other content gets the answer to the first one."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import call
from refbus.timeline.bus import TimelineBus
from refbus.timeline.message import Draft, draft

KILLED_BY = ("timeline.retry.09",)
ITEM = "corpus:program_01"

call.draft = lambda key, payload, nonce=None: _Same(*draft(key, payload, nonce))


class _Text(str):
    """Is the same as any other text."""

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


class _Same(Draft):
    """With a payload that nothing differs from."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return _Text(found) if name == "payload" else found


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
