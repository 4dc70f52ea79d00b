"""Signatures of runs, which distinguish the user's stores from stores of others.

A store contains the pipeline that made it and the folder of the annotations. The author of a store controls this text,
so that following it would let a stranger's store read any file and environment variable of its reader. A run therefore
signs both with a key that never leaves the user's account; the signature is beside the store, not in it.
"""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from ..errors import UnreadableError
from ..readers.content import read_within
from .generations import write_atomically

_SIGNATURE = "signature"
_BYTES = 32


def sign_run(folder: Path, pipeline: str, root: str) -> None:
    """Sign the pipeline and the root, as stored, of a store that a run has just written to the folder of its
    generations. Without a home folder, or on a full disk, no signature is written, and reports ask for ``--root``."""
    with suppress(OSError, RuntimeError):
        file = _key_file()
        if not file.exists():
            from filelock import FileLock

            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(file.with_name("key.lock")):  # of several first runs at the same time, only one makes it
                if not file.exists():
                    write_atomically(file, secrets.token_bytes(_BYTES))
        key = _read(file)
        signature = _sign(key, folder, pipeline, root)
        if key and _read(folder / _SIGNATURE) != signature:
            write_atomically(folder / _SIGNATURE, signature)


def is_own_run(folder: Path, pipeline: str, root: str) -> bool:
    """True if a run of this user wrote a store of this pipeline and root in this very folder."""
    try:
        key = _read(_key_file())
    except RuntimeError:  # there is no home folder
        return False
    return bool(key) and hmac.compare_digest(_read(folder / _SIGNATURE), _sign(key, folder, pipeline, root))


def state_folder() -> Path:
    """The folder of this account for what lasts from run to run; raises a RuntimeError if there is no home folder."""
    state = os.environ.get("XDG_STATE_HOME", "")
    return Path(state if Path(state).is_absolute() else Path.home() / ".local" / "state", "mirflow")


def _key_file() -> Path:
    return state_folder() / "key"


def _read(path: Path) -> bytes:
    """A key or a signature; empty if it is missing or incomplete."""
    try:
        data, size = read_within(path, _BYTES)
    except UnreadableError:
        return b""
    return data if size == _BYTES else b""


def _sign(key: bytes, folder: Path, pipeline: str, root: str) -> bytes:
    # Lengths keep two texts from trading their ends.
    texts = [os.fsencode(os.path.realpath(folder)), *(one.encode("utf-8", "surrogatepass") for one in (pipeline, root))]
    return hmac.digest(key, b"".join(b"%d:%s" % (len(text), text) for text in texts), "sha256")
