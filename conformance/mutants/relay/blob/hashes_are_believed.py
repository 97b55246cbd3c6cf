"""An attachment is not read."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import blob
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.blob.03",)
ITEM = "corpus:attachments"

WAS = "if sum_.hexdigest() != digest:"
IS = 'if sum_.hexdigest() == "":'
SOURCE = inspect.getsource(blob.Attachments._verify)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(blob))
blob.Attachments._verify = blob._verify

if __name__ == "__main__":
    serve({"relay": RelayBus})
