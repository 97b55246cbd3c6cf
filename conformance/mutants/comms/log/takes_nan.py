"""NaN and Infinity are taken for null."""

import json

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel import jsontext

KILLED_BY = ("comms.log.33",)

decode = jsontext.decode
jsontext.decode = lambda text, around=0: decode(json.dumps(json.loads(text, parse_constant=lambda _: None)), around)


if __name__ == "__main__":
    serve({"comms": CommsBus})
