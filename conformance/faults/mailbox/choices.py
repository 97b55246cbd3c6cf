"""Choices of mailbox that break nothing."""

from __future__ import annotations

from typing import Any

from plant import fault

from refbus.kernel.errors import InvalidArgument
from refbus.mailbox.bus import MailboxBus


@fault()
class RefusesShortNamesAndWords(MailboxBus):
    """An agent of one or two characters, or with the name of a word (all, con, null, true), cannot register."""

    def receive(self, agent_id: str, *args: Any, **how: Any) -> dict[str, Any]:
        if len(agent_id) < 3 or agent_id in ("all", "con", "null", "true"):
            raise InvalidArgument(f"{agent_id} cannot be a name here")
        return super().receive(agent_id, *args, **how)
