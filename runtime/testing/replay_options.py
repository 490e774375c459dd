"""How a recorded run is replayed: what the test of a failure may say beyond the record and the step."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What a replay may differ in from the record.

    Args:
        swarm: The swarm in place of the recorded one, as `path.py:name`.
        live: Tools, models or paths (patterns as in a shell) whose calls are made; others answer from the record.
        replies: By path: what a model is taken to answer where the record has nothing.
        allow_changed: Paths (patterns) of steps that may differ from the record.
        limit_s: Seconds that the replay may take.
    """

    swarm: str = ""
    live: Collection[str] = ()
    replies: Mapping[str, str] | None = None
    allow_changed: Collection[str] = ()
    limit_s: float = 60.0

    def mistake(self) -> str:
        """What is wrong with them; empty where they can be used."""
        for name, given in (("live", self.live), ("allow_changed", self.allow_changed)):
            if isinstance(given, str):
                return f"{name} must be a list, for example {name}=[{given!r}]"
        return ""
