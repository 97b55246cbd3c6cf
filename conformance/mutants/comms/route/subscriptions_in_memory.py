"""A subscription is the process's own."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.23",)


class Mutant(CommsBus):
    def subscribe_to_channel(self, agent_id: str, channel_name: str) -> dict[str, Any]:
        self.__dict__.setdefault("mine", set()).add((agent_id, channel_name))
        return {}

    def unsubscribe_from_channel(self, agent_id: str, channel_name: str) -> dict[str, Any]:
        self.__dict__.setdefault("mine", set()).discard((agent_id, channel_name))
        return {}

    def get_subscribed_channels(self, agent_id: str) -> dict[str, Any]:
        mine = self.__dict__.get("mine", set())
        return {"channels": sorted(channel for agent, channel in mine if agent == agent_id)}


if __name__ == "__main__":
    serve({"comms": Mutant})
