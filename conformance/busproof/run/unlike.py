"""What doctor says of an MCP server that is no bus of `topics`: what it offers, what is missing, and what to do."""

from __future__ import annotations

import os
import shlex

from busproof.bus.base import DoorError
from busproof.bus.child import Household
from busproof.bus.doors import command_of
from busproof.bus.mcp_client import McpClient
from busproof.contract import CONTRACTS


def topics(spec: str, system: str | None, household: Household) -> str | None:
    """The words, if the spec is a server that has less than half of the tools of `topics`; else None."""
    if not spec.startswith("mcp:") or system not in (None, "topics") or not (argv := command_of(spec)):
        return None
    client = McpClient(argv, household.spawn)
    try:
        client.start(dict(os.environ))
        offered = [str(tool.get("name")) for tool in client.tools()]
    except DoorError:
        return None  # the examination tells what is wrong
    finally:
        client.leave(at_once=True)
    wanted = [
        method.name for method in CONTRACTS["topics"].methods.values() if method.noun and method.name != "tools.list"
    ]
    missing = [name for name in wanted if name not in offered]
    if len(missing) * 2 <= len(wanted):
        return None
    return (
        f"The server {client.info.get('name', '?')} offers {len(offered)} tools: {', '.join(offered) or 'none'}.\n"
        f"A bus of `topics` has these {len(wanted)}: {', '.join(wanted)}; {len(missing)} of them are missing.\n"
        "So it is no bus of `topics`. It can be judged as a `mailbox`, by a file that maps its tools:\n"
        f"  busproof init mailbox --from {shlex.quote(spec)}        drafts bus.toml from the tools\n"
        "  busproof doctor --bus toml:bus.toml\n"
        "  busproof check mailbox --bus toml:bus.toml"
    )
