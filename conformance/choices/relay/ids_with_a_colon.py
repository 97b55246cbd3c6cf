"""message_id is AGENT:STEM (R11)."""

from refbus.driver import serve
from refbus.relay import names
from refbus.relay.bus import RelayBus

names.message_id = lambda agent, name: f"{agent}:{name.removesuffix(names.SUFFIX)}"

if __name__ == "__main__":
    serve({"relay": RelayBus})
