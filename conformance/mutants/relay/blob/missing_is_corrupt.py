"""A missing attachment is called corrupt."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import blob
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.blob.04",)
ITEM = "corpus:attachments"

WAS = 'raise Failure("attachment_missing", digest) from None'
IS = 'raise Failure("attachment_corrupt", digest) from None'
SOURCE = inspect.getsource(blob.Attachments.verify)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(blob))
blob.Attachments.verify = blob.verify

if __name__ == "__main__":
    serve({"relay": RelayBus})
