"""log: the server and its tools, the file, and the messages in it."""

from __future__ import annotations

from busproof.scenarios.topics.common import scenario
from busproof.suite import Ctx


@scenario("log.ping")
def ping(ctx: Ctx) -> None:
    """The server lives, and says which contract and which version it is."""
    a = ctx.agent("a")
    reply = a.call("ping")
    ctx.expect("topics.log.07", reply["ok"] is True, f"ping answered {reply}")
    spec = reply["spec_version"]
    ctx.expect("topics.log.08", isinstance(spec, str) and spec != "", f"spec_version is {spec!r}")
    package = reply["package_version"]
    ctx.expect("topics.log.09", isinstance(package, str) and package != "", f"package_version is {package!r}")
    ctx.expect("topics.log.10", spec == "v6.3", f"spec_version is {spec!r}")
