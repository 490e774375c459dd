"""What an operator may do, how far an answer reaches, and queues of runs: words that every floor uses, known without
pydantic.
"""

from __future__ import annotations

from typing import Literal

Role = Literal["operator", "viewer"]
"""What a console may do; it comes from the socket that it dialled. A viewer only looks."""
Reach = Literal["attempt", "agent", "run"]
"""How far an answer goes: this attempt, all further steps of the agent, all further steps of the run."""

DEFAULT_QUEUE = "default"
"""The queue of runs for which no other is named."""
QUEUE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
"""The name of a queue: letters, digits, ``.``, ``_`` and ``-``."""


def need_words(code: str, queue: str) -> str:
    """What a run needs of a worker, after the word ``worker``: ``with code 'v2' that takes the queue 'gpu'``."""
    parts = [f"with code {code!r}"] if code else []
    if queue != DEFAULT_QUEUE or not code:
        parts.append(f"that takes the queue {queue!r}")
    return " ".join(parts)
