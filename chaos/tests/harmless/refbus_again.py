"""No fault: the reference under another name, for mixed fleets."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.mailbox.bus import MailboxBus
from refbus.relay.bus import RelayBus
from refbus.timeline.bus import TimelineBus
from refbus.worker.bus import WorkerBus

if __name__ == "__main__":
    seeds = {"worker": WorkerBus, "comms": CommsBus, "timeline": TimelineBus, "relay": RelayBus}
    serve({**seeds, "mailbox": MailboxBus})
