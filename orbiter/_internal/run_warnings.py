"""Warnings of plain `run`: settings that it cannot honour, each said once."""

from __future__ import annotations

import logging

logger = logging.getLogger("orbiter")

_logged: set[str] = set()


def warn_needs_runtime(what: str) -> None:
    """Log, once in a process, that something declared has no effect under plain `run`."""
    if what not in _logged:
        _logged.add(what)
        logger.warning("%s: only a runtime honours that, plain run() does not", what)
