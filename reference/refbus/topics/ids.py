"""Ids of topics and messages: short UUIDs of ten hex digits. There are only 2**40, so a writer expects collisions."""

from __future__ import annotations

import random
import secrets


def new_id() -> str:
    """A random one."""
    return secrets.token_hex(5)


def ids_of_time(now_s: float, count: int) -> list[str]:
    """Ids that begin with the second, as version 7 of the long ones does with the millisecond.

    So messages sent together lie together in the index of ids; random ones would dirty a page of it for each message.
    """
    start = (int(now_s) % 2**24 << 16) + random.randrange(2**16 - count)
    return [f"{number:010x}" for number in range(start, start + count)]
