"""A start tidies up tmp/, and takes a link to a folder for a folder of its own."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import deliver, recovery
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.15",)
ITEM = "limit.links"

WAS = "is_dir(follow_symlinks=False)"
SOURCE = inspect.getsource(recovery.Recovery._sweep)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, "is_dir()")), vars(recovery))
recovery.Recovery._sweep = vars(recovery)["_sweep"]


def remove(self: deliver.Delivery, folder: str) -> None:
    path = self._store.root / "tmp" / folder
    for one in path.iterdir():
        one.unlink()
    path.unlink() if path.is_symlink() else path.rmdir()


deliver.Delivery.remove = remove

if __name__ == "__main__":
    serve({"relay": RelayBus})
