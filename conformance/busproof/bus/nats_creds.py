"""A `nats-server` that lets nobody in without credentials: an operator, an account, a user, each a signed token."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from dataclasses import dataclass
from typing import Any

import nkeys

_ALL = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1) | {"wildcards": True}
_JETSTREAM = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}


@dataclass(frozen=True)
class Credentials:
    """What its operator configures, and the file that a user is given."""

    server: str
    user: str


def credentials() -> Credentials:
    """New ones. The server keeps its accounts in memory."""
    operator, system, account, user = (_key(kind) for kind in "OAAU")
    limits = {"limits": _ALL, "default_permissions": {"pub": {}, "sub": {}}}
    accounts = {
        nkey: _token(operator, nkey, {"type": "account", **limits, **more})
        for nkey, more in ((system, {}), (account, {"limits": _ALL | _JETSTREAM}))
    }
    lines = [
        f"operator: {_token(operator, operator, {'type': 'operator', 'system_account': system.name})}",
        f"system_account: {system.name}",
        "resolver: MEMORY",
        "resolver_preload: {",
        *(f"  {nkey.name}: {token}" for nkey, token in accounts.items()),
        "}",
    ]
    token = _token(account, user, {"type": "user", "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1})
    parts = [
        *("-----BEGIN NATS USER JWT-----", token, "------END NATS USER JWT------", ""),
        *("-----BEGIN USER NKEY SEED-----", user.seed.decode(), "------END USER NKEY SEED------", ""),
    ]
    return Credentials("\n".join(lines), "\n".join(parts))


@dataclass(frozen=True)
class _Key:
    seed: bytes

    @property
    def name(self) -> str:
        """Its public half."""
        return str(nkeys.from_seed(bytearray(self.seed)).public_key.decode())

    def signed(self, text: bytes) -> bytes:
        """The signature."""
        return bytes(nkeys.from_seed(bytearray(self.seed)).sign(text))


def _key(kind: str) -> _Key:
    prefix = {"O": nkeys.PREFIX_BYTE_OPERATOR, "A": nkeys.PREFIX_BYTE_ACCOUNT, "U": nkeys.PREFIX_BYTE_USER}[kind]
    return _Key(bytes(nkeys.encode_seed(os.urandom(32), prefix)))


def _token(issuer: _Key, subject: _Key, grants: dict[str, Any]) -> str:
    """A JWT that says so. Its id is a digest of its claims, as the servers want it."""
    claims = {"iat": int(time.time()), "iss": issuer.name, "name": "busproof", "sub": subject.name}
    claims["nats"] = grants | {"version": 2}
    claims["jti"] = base64.b32encode(hashlib.sha256(json.dumps(claims).encode()).digest()).decode().rstrip("=")
    head = {"typ": "JWT", "alg": "ed25519-nkey"}
    text = b".".join(_base64(json.dumps(part).encode()) for part in (head, claims))
    return (text + b"." + _base64(issuer.signed(text))).decode()


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
