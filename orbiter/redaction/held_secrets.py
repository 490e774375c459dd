"""Secrets that this process got from elsewhere and uses: tokens of logins. In memory only; masked in all that is
recorded, logged and shown, also where a server repeats them.
"""

from __future__ import annotations

import threading

from orbiter.redaction.known_secrets import MIN_SECRET_LENGTH

_MOST = 500
"""Secrets that are held; the oldest goes. A token lives for hours, and each server has two."""
_lock = threading.Lock()
_held: dict[str, None] = {}


def hold_secrets(*secrets: str | None) -> None:
    """Have these masked from now on."""
    with _lock:
        for each in secrets:
            if each and len(each) >= MIN_SECRET_LENGTH:
                _held.pop(each, None)
                _held[each] = None
        while len(_held) > _MOST:
            del _held[next(iter(_held))]


def held_secrets() -> tuple[str, ...]:
    """All that are held."""
    with _lock:
        return tuple(_held)
