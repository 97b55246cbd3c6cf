"""A limit of 0 or above 2^31 - 1, and a whole number beyond 64 bits in a payload, are refused, always."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument
from refbus.worker.bus import WorkerBus


def check_limit(limit: Any) -> None:
    if type(limit) is int and (limit == 0 or limit > 2**31 - 1):
        raise InvalidArgument("limit must be from 1 to 2147483647")


def check_numbers(value: Any) -> None:
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise InvalidArgument("a number of the payload has more than 64 bits")
    for member in value.values() if type(value) is dict else value if type(value) is list else ():
        check_numbers(member)


class Choice(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        check_numbers(message.get("payload") if type(message) is dict else None)
        return super().publish(agent_id, message)

    def publish_many(self, agent_id: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
        for message in messages if type(messages) is list else ():
            check_numbers(message.get("payload") if type(message) is dict else None)
        return super().publish_many(agent_id, messages)

    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> dict[str, Any]:
        check_limit(limit)
        return super().poll(agent_id, limit, wait_ms)

    def search(self, query: str, limit: int = 100) -> dict[str, Any]:
        check_limit(limit)
        return super().search(query, limit)

    def status(self, limit: int = 100) -> dict[str, Any]:
        check_limit(limit)
        return super().status(limit)

    def process_loop(self, agent_id: str, limit: int = 100, fail_ids: Any = ()) -> dict[str, Any]:
        check_limit(limit)
        return super().process_loop(agent_id, limit, fail_ids)


if __name__ == "__main__":
    serve({"worker": Choice})
