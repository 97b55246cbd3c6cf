"""NaN is taken for JSON."""

import json

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel import jsontext

KILLED_BY = ("comms.log.33",)

jsontext.encode = json.dumps
jsontext.decode = lambda text, around=0: json.loads(text)


if __name__ == "__main__":
    serve({"comms": CommsBus})
