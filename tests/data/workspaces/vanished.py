"""A swarm that imports a module of its workspace, which is gone when the workspace is kept."""

from __future__ import annotations

from companion import QUESTION  # type: ignore[import-not-found]
from swarms import ask, call, says, text_of  # type: ignore[import-not-found]

agent = says("vanished", call("ask", question=QUESTION), lambda m: f"then: {text_of(m[-1])}", tools=[ask])
