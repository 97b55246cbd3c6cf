"""The path of the credentials is taken as it is written: one that begins with ~ is no file."""

from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument
from refbus.timeline import natsclient
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.39",)
CONTROL = "retry.time_out"

_readable = natsclient._readable


def _as_written(creds: str) -> str:
    if creds.startswith("~"):
        raise InvalidArgument(f"nats_creds: there is no {creds}")
    return _readable(creds)


natsclient._readable = _as_written

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
