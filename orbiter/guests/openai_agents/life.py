"""One run of an agent in one life: its node, and what is known of it while it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from orbiter.guests.current_life import CurrentLife
from orbiter.guests.places import CallPlaces
from orbiter.steps import Place, Scope

if TYPE_CHECKING:
    from agents import Model


_TOLD: ContextVar[bool] = ContextVar("orbiter_openai_agents_told", default=False)


@dataclass(slots=True, frozen=True)
class GuestOptions:
    """What was given to `guest`. `models`: what an operator may choose. `tools`: what the author declares of tools."""

    models: Mapping[str, Model]
    tools: Mapping[str, Mapping[str, Any]]
    tracing: bool


@dataclass(slots=True, eq=False, kw_only=True)
class Life(CallPlaces):
    """What is known of one run of an agent while it goes on.

    `root` is the node of the run, `scope` that of the agent which is at work: another one after a handoff.
    `model_timeout` is the limit of one model call in seconds. `calls` are the ids of the latest reply's calls, by what
    they call, the first of each. `sent` is how many items the latest model request had. `injected` is what an
    operator said to the agent, and where it stands in the conversation. `approved` are the calls that need an
    operator's permission before they are made. `told`: an agent that called this one is told of the failures of its
    models that retries do not heal.
    """

    root: Scope
    scope: Scope
    agent: str
    options: GuestOptions
    model_timeout: float | None = None
    calls: dict[str, str] = field(default_factory=dict)
    sent: int = 0
    injected: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    approved: set[str] = field(default_factory=set)
    told: bool = field(default_factory=_TOLD.get)

    def declared(self, tool: str) -> Mapping[str, Any]:
        """What the author declares of a tool."""
        return self.options.tools.get(tool, {})

    async def hand_over(self, agent: str, info: Mapping[str, Any]) -> None:
        """Another agent goes on: in a node of its own, beside those that had the conversation before."""
        await self.close()
        opened = self.root.scope("agent", agent, Place(self.turn), info)
        self.scope = await opened.__aenter__()
        self.agent = agent

    async def close(self, exc: BaseException | None = None) -> None:
        """Close the node of the agent that a handoff had given the conversation to."""
        if self.scope is not self.root:
            scope, self.scope = self.scope, self.root
            await scope.__aexit__(type(exc) if exc is not None else None, exc, None)


@contextmanager
def telling(told: bool) -> Iterator[None]:
    """The agent that calls is told of failures of what runs inside, or an agent above it is."""
    token = _TOLD.set(told or _TOLD.get())
    try:
        yield
    finally:
        _TOLD.reset(token)


_CURRENT: CurrentLife[Life] = CurrentLife("openai_agents")
current_life, entered = _CURRENT.get, _CURRENT.entered
