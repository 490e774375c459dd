"""The run that `Agent.run` carries out: one that was prepared for it, or one of its own."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from orbiter._internal.loop.agent_run import AgentRun
from orbiter.types import Message

if TYPE_CHECKING:
    from orbiter.agent import Agent

prepared_run: ContextVar[AgentRun | None] = ContextVar("orbiter_prepared_run", default=None)
"""The run that a subclass's own `run` shall carry out when it calls `Agent.run`; unset outside of one."""


def get_run(agent: Agent, *, messages: list[Message] | None, provider: Any, max_retries: int) -> AgentRun:
    """What `Agent.run` carries out: the run that was prepared for it, or one of its own."""
    run = prepared_run.get()
    if run is not None and run.agent is agent and not run.messages:
        run.history, run.provider = messages, provider
        return run
    return AgentRun(agent, history=messages, provider=provider, max_retries=max_retries)
