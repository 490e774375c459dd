"""Keys of a workspace: secrets that people give as answers are sealed to them, so that each worker can open them.

They stand in a file that all workers have (a mounted secret), one private key a line, the newest last. What is asked is
sealed to the last; the others open what was sealed before it was added.
"""

from __future__ import annotations

import os
from pathlib import Path

from orbiter.errors import ConfigurationError
from runtime.judgement.recovery.secret_box import KeyPair, SealError

_HEAD = "# orbiter-console: private keys of a workspace, the newest last. Keep this file secret.\n"


def read_keys(path: Path) -> tuple[KeyPair, ...]:
    """The keys in a file, in its order.

    Raises:
        ConfigurationError: it cannot be read, others may read it, or a line is not a key. Nothing of it is quoted.
    """
    try:
        if path.stat().st_mode & 0o077:
            raise ConfigurationError(f"{path} is open to others: chmod 600 {path}")
        lines = path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError as exc:
        raise ConfigurationError(f"{path} must hold keys that `orbiter-console database key FILE` has written") from exc
    except OSError as exc:
        raise ConfigurationError(f"cannot read the keys {path}: {exc.strerror or exc}") from exc
    keys: list[KeyPair] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            keys.append(KeyPair.from_text(line.strip()))
        except SealError:
            raise ConfigurationError(
                f"{path}, line {number}: must be a key that `orbiter-console database key FILE` has written"
            ) from None
    if not keys:
        raise ConfigurationError(f"{path} holds no key: orbiter-console database key {path} adds one")
    return tuple(keys)


def add_key(path: Path) -> int:
    """Add a new key to a file, which is made (mode 0600) if it is not there; how many it has then.

    Raises:
        ConfigurationError: the file cannot be read or written, or is not one of keys.
    """
    known = len(read_keys(path)) if path.exists() else 0
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(("" if known else _HEAD) + KeyPair.generate().to_text() + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as exc:
        raise ConfigurationError(f"cannot write the keys {path}: {exc.strerror or exc}") from exc
    return known + 1
