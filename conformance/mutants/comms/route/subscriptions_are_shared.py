"""Every agent has everybody's channels."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.21",)


class Mutant(CommsBus):
    def get_subscribed_channels(self, agent_id: str) -> dict[str, Any]:
        rows = self.store.db.rows("SELECT DISTINCT channel_name FROM channel_subscriptions ORDER BY 1")
        return {"channels": [row[0] for row in rows]}


if __name__ == "__main__":
    serve({"comms": Mutant})
