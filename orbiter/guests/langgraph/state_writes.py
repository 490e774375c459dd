"""What tools write to the state of their agent by themselves, beside what they give: the files of deepagents.

They do so by a function in their configuration. What they wrote is recorded with the call, and written again where the
call is recalled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig

SEND = "__pregel_send"
"""LangGraph's key of the function that writes to channels, which deepagents 0.7 uses."""


@dataclass(slots=True, eq=False)
class StateWrites:
    """What the calls of a tool wrote in this life: `made`, by channel. `watched`: there was a call."""

    made: list[tuple[str, Any]] = field(default_factory=list)
    watched: bool = False

    def watch(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """The configuration for one call, which notes what the call writes."""
        self.watched = True
        self.made.clear()
        send = _sender(config)
        if config is None or send is None:
            return config

        def noting(writes: Sequence[tuple[str, Any]]) -> None:
            self.made.extend(writes)
            send(writes)

        return {**config, "configurable": {**config["configurable"], SEND: noting}}


def write_again(written: Sequence[tuple[str, Any]], config: RunnableConfig | None) -> None:
    """Write what a recalled call wrote."""
    send = _sender(config)
    if written and send is not None:
        send(written)


def _sender(config: RunnableConfig | None) -> Callable[[Sequence[tuple[str, Any]]], None] | None:
    found: Callable[[Sequence[tuple[str, Any]]], None] | None = (config or {}).get("configurable", {}).get(SEND)
    return found
