"""A request's subject has the service where the backend belongs."""

from dataclasses import replace

from refbus.driver import serve
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.22",)
ITEM = "corpus:keys_request"

from_dict = keys.from_dict


def of_the_service(value: object) -> keys.Key:
    key = from_dict(value)
    return replace(key, backend=key.service) if isinstance(key, keys.Request) else key


keys.from_dict = of_the_service


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
