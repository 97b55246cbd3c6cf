"""Faults of worker, route."""

from typing import Any

from plant import fault

from refbus.worker.bus import WorkerBus

CONTROL = "route.addressed_to_one"


@fault("worker.route.05")
class AddressedBeforeBroadcast(WorkerBus):
    """Addressed messages come before broadcasts, whatever their seq."""

    def poll(self, **params: Any) -> dict[str, Any]:
        rows = super().poll(**params)["messages"]
        return {"messages": sorted(rows, key=lambda row: (row["to_agent"] is None, row["seq"]))}


@fault("worker.route.01")
class BroadcastIsForTheFirst(WorkerBus):
    """A broadcast goes to the agent that polls first."""

    def poll(self, agent_id: str, **params: Any) -> dict[str, Any]:
        reply = super().poll(agent_id, **params)
        for row in reply["messages"]:
            if row["to_agent"] is None:
                self.db.write("UPDATE messages SET to_agent = ? WHERE seq = ?", (agent_id, row["seq"]))
        return reply


@fault("worker.route.04")
class BroadcastSparesItsSender(WorkerBus):
    """A broadcast is not delivered to its sender."""

    def poll(self, agent_id: str, **params: Any) -> dict[str, Any]:
        rows = super().poll(agent_id, **params)["messages"]
        return {"messages": [row for row in rows if row["to_agent"] or row["from_agent"] != agent_id]}


@fault("worker.route.02", control="route.broadcast_reaches_all")
class BroadcastsOnly(WorkerBus):
    """Addressed messages are not delivered."""

    def poll(self, **params: Any) -> dict[str, Any]:
        return {"messages": [row for row in super().poll(**params)["messages"] if row["to_agent"] is None]}


@fault("worker.route.03", control="route.broadcast_reaches_all")
class EverybodyHearsEverything(WorkerBus):
    """A message for one agent is delivered to all."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        return super().publish(agent_id, {key: value for key, value in message.items() if key != "to"})


@fault("worker.route.06")
class NamesFoldCase(WorkerBus):
    """Worker and worker are one agent."""

    def poll(self, agent_id: str, **params: Any) -> dict[str, Any]:
        rows = {}
        for name in {agent_id, agent_id.lower(), agent_id.title()}:
            rows |= {row["seq"]: row for row in super().poll(name, **params)["messages"]}
        return {"messages": [rows[seq] for seq in sorted(rows)]}
