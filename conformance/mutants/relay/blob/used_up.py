"""An attachment is removed once it was named."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import blob
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.blob.05",)
ITEM = "corpus:attachments"

WAS = "found = os.fstat(file)"
IS = "found = os.fstat(file)\n        os.unlink(self._store.root / 'attachments' / digest[:2] / digest)"
SOURCE = inspect.getsource(blob.Attachments._verify)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(blob))
blob.Attachments._verify = blob._verify

if __name__ == "__main__":
    serve({"relay": RelayBus})
