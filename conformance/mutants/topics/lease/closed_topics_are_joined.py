"""A join by name may lead to a closed topic as well."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.26",)


class Mutant(TopicsBus):
    def topic_join(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if kwargs.get("allow_closed", False) is False:
            kwargs["allow_closed"] = True
        return super().topic_join(*args, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
