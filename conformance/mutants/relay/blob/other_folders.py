"""An attachment is looked for below its first digit."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import blob
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.blob.01",)
ITEM = "corpus:attachments"

WAS = "digest[:2]"
IS = "digest[:1]"
SOURCE = inspect.getsource(blob.Attachments._look)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(blob))
blob.Attachments._look = blob._look  # type: ignore[method-assign,attr-defined]

if __name__ == "__main__":
    serve({"relay": RelayBus})
