"""Secrets that operators gave to this process: in memory, for as long as it lives, and nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from runtime.judgement.sealed import CannotOpen, KeyPair, unseal

_WORTH_MASKING = 4
"""Characters from which on a secret is looked for in texts: a shorter one is found everywhere."""


class Vault:
    """A key pair, made when it is first needed, and what was opened with it. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pair: KeyPair | None = None
        self._known: dict[str, None] = {}

    @property
    def public(self) -> str:
        """What to seal a secret with that is for this process."""
        return self._keys().public

    def open(self, sealed: Mapping[str, Any]) -> str | None:
        """The secret; None if it was for a process that is gone."""
        try:
            found = unseal(self._keys(), sealed)
        except CannotOpen:
            return None
        if len(found) >= _WORTH_MASKING:
            self._known[found] = None
        return found

    def known(self) -> tuple[str, ...]:
        """Every secret that was opened here: what is masked in texts that quote one."""
        return tuple(self._known)

    def _keys(self) -> KeyPair:
        with self._lock:
            if self._pair is None:
                self._pair = KeyPair.new()
            return self._pair


VAULT = Vault()
"""This process's. A run that leaves memory and comes back is of the same process, so one life cannot own it."""
