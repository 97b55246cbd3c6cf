"""A shell reads the prompt."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.21",)

WAS = "[*argv, *prompt]"
IS = '["/bin/sh", "-c", f\'exec "$0" "{"".join(prompt)}"\', *argv]'
SOURCE = inspect.getsource(spawn.Spawns._program)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))
spawn.Spawns._program = spawn._program

if __name__ == "__main__":
    serve({"relay": RelayBus})
