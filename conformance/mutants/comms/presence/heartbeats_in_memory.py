"""A heartbeat is not in the file."""

import json
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.presence.05",)
CONTROL = "presence.last_heartbeat"


class Mutant(CommsBus):
    beats: dict[str, dict[str, Any]] = {}  # noqa: RUF012

    def send_heartbeat(self, agent_id: str, status: str, current_task: str | None = None) -> dict[str, Any]:
        self.beats[agent_id] = {"status": status, "current_task": current_task}
        (self.store.folder / "beats.json").write_text(json.dumps(self.beats))
        super().send_heartbeat("ghost", status, current_task)
        return {}

    def get_agent_health(self, agent_id: str) -> dict[str, Any]:
        told = json.loads((self.store.folder / "beats.json").read_text())[agent_id]
        return {**super().get_agent_health("ghost"), "agent_id": agent_id, **told}


if __name__ == "__main__":
    serve({"comms": Mutant})
