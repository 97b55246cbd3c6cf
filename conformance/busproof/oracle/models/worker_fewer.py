"""What a `worker` bus is asked that lacks something usual (`hello.lacks`), and whom its broadcasts reach."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import Any

from busproof.oracle.models.spec import DoesNotApply

_PLAIN = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*")


def fitted(method: str, params: dict[str, Any], readers: Sequence[str], features: Set[str]) -> dict[str, Any]:
    """The parameters, with messages that the bus takes: the bus names them, and their addressees are known to it."""
    sender = params.get("agent_id")
    if "any_name" not in features:
        batch = params.get("messages")
        messages = [params.get("message"), *(batch if isinstance(batch, list) else ())]
        names = [sender, *(message.get("to") for message in messages if isinstance(message, dict))]
        if any(isinstance(name, str) and not _PLAIN.fullmatch(name) for name in names):
            raise DoesNotApply("a name that the bus need not take")
    if method == "ack" and sender not in readers and "late_readers" not in features:
        raise DoesNotApply("an ack may make an agent known that has not polled")
    if "message" in params:
        return {**params, "message": _fitting(params["message"], sender, readers, features)}
    if isinstance(params.get("messages"), list):
        return {**params, "messages": [_fitting(message, sender, readers, features) for message in params["messages"]]}
    return params


def _fitting(message: Any, sender: Any, readers: Sequence[str], features: Set[str]) -> Any:
    """One message. Where the bus cannot take its addressee, another agent that has polled is the addressee."""
    if not isinstance(message, dict) or message.get("type") is None:
        return message  # refused, to whomever it is
    fit = {name: value for name, value in message.items() if name != "id" or "idempotent_publish" in features}
    to = fit.get("to")
    is_to_nobody_known = isinstance(to, str) and to not in readers and "late_readers" not in features
    is_to_its_sender = to == sender and "self_delivery" not in features
    if is_to_nobody_known or is_to_its_sender or (to is None and "broadcast" not in features):
        fit["to"] = next((name for name in readers if name != sender), None)
        if fit["to"] is None:
            raise DoesNotApply("nobody else has polled")
    return fit


def for_reader(log: Sequence[Any], agent: str, features: Set[str]) -> list[Any]:
    """The rows of a log without the broadcasts that do not reach this agent."""
    return [
        row
        for row in log
        if row.to_agent is not None
        or ((row.known is None or agent in row.known) and (row.from_agent != agent or "self_delivery" in features))
    ]
