"""Faults of relay, route."""

import os
from typing import Any

from plant import fault, patch, rewrite

from refbus.kernel import msgfile
from refbus.relay import deliver, names, process, requests, route, tree
from refbus.relay.deliver import Delivery

CONTROL = "lease.lock"


@fault("relay.route.14", item="corpus:routes")
def acks_are_swallowed():
    """An ack reaches nobody."""
    rewrite(
        process.Processing._copies,
        "recipients = self._route.recipients(row.agent, message.to)",
        "recipients = [one for one in self._route.recipients(row.agent, message.to) if message.kind != 'ack']",
    )


@fault("relay.route.12", item="corpus:routes")
def anybody_spawns():
    """A request to anybody is a message."""
    rewrite(
        process.Processing._handle,
        "message.kind in _ORCHESTRATORS and message.to != names.ORCHESTRATOR",
        "message.kind in ()",
    )


@fault("relay.route.13", item="corpus:routes")
def bad_addresses_are_unknown():
    """A bad address is an unknown agent."""
    rewrite(route.Route.refuse_bad_address, 'raise Failure("bad_address"', 'raise Failure("unknown_agent"')


@fault("relay.route.06", item="corpus:routes")
def bad_channels_are_skipped():
    """A bad channel in a list is passed over."""
    rewrite(requests.Requests._status, 'raise Failure("bad_request", f"no channel: {channel!a:.80}")', "continue")


@fault("relay.route.02", item="corpus:agents")
def broadcasts_to_the_absent():
    """A broadcast goes to inactive agents, too."""
    rewrite(
        route.Route.recipients,
        "\"SELECT name FROM agents WHERE status = 'active' AND",
        "\"SELECT name FROM agents WHERE status <> 'never' AND",
    )


@fault("relay.route.03", item="corpus:routes")
def broadcasts_to_the_sender():
    """A broadcast comes back to its sender."""
    rewrite(
        route.Route.recipients,
        "WHERE status = 'active' AND name <> ? ORDER",
        "WHERE status = 'active' AND name <> ? || '!' ORDER",
    )


@fault("relay.route.19", item="corpus:routes")
def copies_are_pending():
    """A delivered file's row is archived."""
    rewrite(deliver.Delivery.complete, "SET status = 'completed'", "SET status = 'archived'")


@fault("relay.route.08", item="corpus:routes")
def lead_is_a_name():
    """Lead is an agent of this name."""
    rewrite(route.Route._one, "name = self._store.config.lead", "name = to")


@fault("relay.route.18", item="corpus:order")
def names_fall_with_the_clock():
    """Names in an inbox follow the clock back."""
    rewrite(deliver.Delivery._free_name, "max(tx.now_us * 1_000, newest + 1)", "tx.now_us * 1_000")


@fault("relay.route.17", item="corpus:routes")
def names_without_a_time():
    """A delivered file is named by its uuid alone."""
    rewrite(names.file_name, 'f"{at_ns:019}-{of}{SUFFIX}"', 'f"{at_ns:019}_{of}{SUFFIX}"')


@fault("relay.route.09", item="corpus:retries")
def no_lead_is_final():
    """Without a lead a message fails at once."""
    route.final = lambda reason, *detail: route.Failure(reason, *detail, is_final=reason == "no_lead")
    rewrite(route.Route._one, "raise Failure(reason", "raise final(reason")


@fault("relay.route.15", "relay.route.16", item="corpus:routes")
def no_sender():
    """A delivered file does not say who sent it."""
    rewrite(
        msgfile.format_copy,
        'f"FROM: {sender}\\nID: {id_}\\n".encode() + original',
        'f"ID: {id_}\\n".encode() + original',
    )


@fault("relay.route.07", item="corpus:routes")
def nobody_is_a_failure():
    """A broadcast that reaches nobody fails."""
    rewrite(
        route.Route.recipients,
        "return [name for (name,) in rows]",
        "found = [name for (name,) in rows]\n"
        "        if not found:\n"
        '            raise Failure("unknown_agent", to, is_final=True)\n'
        "        return found",
    )


@fault("relay.route.05", item="corpus:routes")
def nobody_unsubscribes():
    """UNSUBSCRIBE does nothing."""
    rewrite(
        requests.Requests._status, 'route.subscribe if key == "SUBSCRIBE" else route.unsubscribe', "route.subscribe"
    )


@fault("relay.route.21", item="corpus:routes")
def not_to_oneself():
    """An agent that writes to itself reaches nobody."""
    rewrite(route.Route._one, "row is None or", "row is None or to == 'ann' or")


@fault("relay.route.04", item="corpus:routes")
def one_channel_for_all():
    """Channels are not told apart."""
    rewrite(route.Route.recipients, "WHERE channel = ? AND", "WHERE lower(channel) = lower(?) AND")


@fault("relay.route.23", item="corpus:large_ones_to_several")
def one_file_for_several():
    """Copies of one large message are one file, under a name in each inbox."""
    LARGE_BYTES = 50_000
    write = deliver.Delivery._write

    def shared(delivery: deliver.Delivery, name: str, data: bytes, fd: int) -> Any:
        stat = write(delivery, name, data, fd)
        for other in sorted(os.listdir(fd)) if len(data) > LARGE_BYTES else ():
            with open(other, "rb", opener=lambda path, flags: os.open(path, flags, dir_fd=fd)) as file:
                is_twin = other != name and file.read() == data
            if is_twin:
                os.unlink(name, dir_fd=fd)
                os.link(other, name, src_dir_fd=fd, dst_dir_fd=fd)
                return tree.stat_of(os.stat(name, dir_fd=fd))
        return stat

    patch(deliver.Delivery, _write=shared)


@fault("relay.route.22")
def one_lost_inbox_ends_the_delivery():
    """Where one inbox takes nothing, those behind it in the batch get nothing either, and are told as served."""
    place, move = Delivery.place, Delivery._move
    lost: list[str] = []

    def placed(self: Delivery, payload: dict[str, Any]) -> list[int]:
        lost.clear()
        return place(self, payload)

    def moved(self: Delivery, number: str, staged: int, recipient: str, name: str) -> bool:
        if lost:
            return True
        if not move(self, number, staged, recipient, name):
            lost.append(recipient)
            return False
        return True

    Delivery.place, Delivery._move = placed, moved


@fault("relay.route.04", item="corpus:silent_subscribers")
def silent_subscribers_get_nothing():
    """A channel reaches active subscribers alone."""
    rewrite(route.Route.recipients, "status <> 'terminated'", "status = 'active'")


@fault("relay.route.10", "relay.route.11", item="corpus:routes")
def the_orchestrator_has_an_inbox():
    """A message for the orchestrator goes to the lead."""
    rewrite(
        process.Processing._handle,
        'elif message.kind not in ("message", "ack", "nack"):',
        'elif message.kind in ("message", "ack", "nack"):\n'
        '                    raise Failure("bad_request", "nothing is asked")\n'
        "                else:",
    )


@fault("relay.route.01", item="corpus:routes")
def to_everybody():
    """A message for one goes to all."""
    rewrite(route.Route.recipients, "if to == names.ALL:", 'if to == names.ALL or to == "bob":')


@fault("relay.route.20")
def written_in_place():
    """A copy is written in the inbox."""
    rewrite(
        deliver.Delivery._move,
        "os.rename(number, name, src_dir_fd=staged, dst_dir_fd=inbox)",
        "data = open(os.open(number, os.O_RDONLY, dir_fd=staged), 'rb').read()\n"
        "                    file = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=inbox)\n"
        "                    for at in range(0, len(data), 4096):\n"
        "                        os.write(file, data[at : at + 4096])\n"
        "                    os.close(file)\n"
        "                    os.unlink(number, dir_fd=staged)",
    )
