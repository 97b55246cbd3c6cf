"""Blobs: JSON texts in files that are named by their own hash."""

from __future__ import annotations

import errno
import hashlib
import re
from pathlib import Path

from refbus.kernel.errors import BlobCorrupt, BlobInvalid, BlobMissing, BusError, of_os_error
from refbus.kernel.files import atomic_write, keep_entry, read_whole, restore_folder
from refbus.kernel.rules.limit import PAYLOAD_BYTES_MAX

BYTES_MAX = 4 * PAYLOAD_BYTES_MAX  # a stranger may have stored as much; reading more would harm the reader
REF = re.compile(r"sha256-[0-9a-f]{64}")


def ref_of(data: bytes) -> str:
    """The name of a blob."""
    return f"sha256-{hashlib.sha256(data).hexdigest()}"


def save(folder: Path, data: bytes) -> str:
    """Store the data under its hash and return the ref. A blob that is there and whole is left alone."""
    ref = ref_of(data)
    try:
        load(folder, ref)
    except BusError:
        restore_folder(folder)
        atomic_write(folder / ref, data)
    else:
        keep_entry(folder / ref)
    return ref


def load(folder: Path, ref: object) -> bytes:
    """Read a blob and hold it against its name. A ref is checked before it becomes a path (W6)."""
    if not isinstance(ref, str) or not REF.fullmatch(ref):
        raise BlobInvalid(f"not a blob's name: {ref!a:.100}")
    try:
        data = read_whole(folder / ref, BYTES_MAX)
    except (FileNotFoundError, NotADirectoryError):  # also where the folder is none
        raise BlobMissing(ref) from None
    except OSError as error:
        if Path(folder / ref).is_symlink():
            raise BlobCorrupt(f"{ref} is a symbolic link") from error
        if error.errno == errno.ELOOP:
            raise BlobMissing(ref) from None
        raise of_os_error(error, definite=True) from error
    if ref_of(data) != ref:
        raise BlobCorrupt(f"the content of {ref} has another hash")
    return data
