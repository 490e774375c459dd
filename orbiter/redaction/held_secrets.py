"""Secrets that this process got from elsewhere and uses: tokens of logins. In memory only; masked in all that is
recorded, logged and shown, also where a server repeats them.
"""

from __future__ import annotations

import threading

from orbiter.redaction.known_secrets import MIN_SECRET_LENGTH

_MOST = 500
"""Secrets that are held; the oldest goes. A token lives for hours, and each server has two."""
_lock = threading.Lock()
_held: tuple[str, ...] = ()
"""In the order in which they came. Never changed, only replaced: it is read at every event, without the lock."""


def hold_secrets(*secrets: str | None) -> None:
    """Have these masked from now on."""
    global _held  # noqa: PLW0603 - the one place that replaces it
    with _lock:
        added = dict.fromkeys(each for each in reversed(secrets) if each and len(each) >= MIN_SECRET_LENGTH)
        kept = [each for each in _held if each not in added]
        _held = (*kept, *reversed(added))[-_MOST:]


def held_secrets() -> tuple[str, ...]:
    """All that are held."""
    return _held
