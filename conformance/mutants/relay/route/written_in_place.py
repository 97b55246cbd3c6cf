"""A copy is written in the inbox."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import deliver
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.20",)

WAS = "os.rename(number, name, src_dir_fd=staged, dst_dir_fd=inbox)"
IS = (
    "data = open(os.open(number, os.O_RDONLY, dir_fd=staged), 'rb').read()\n"
    "                    file = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=inbox)\n"
    "                    for at in range(0, len(data), 4096):\n"
    "                        os.write(file, data[at : at + 4096])\n"
    "                    os.close(file)\n"
    "                    os.unlink(number, dir_fd=staged)"
)
SOURCE = inspect.getsource(deliver.Delivery._move)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(deliver))
deliver.Delivery._move = deliver._move

if __name__ == "__main__":
    serve({"relay": RelayBus})
