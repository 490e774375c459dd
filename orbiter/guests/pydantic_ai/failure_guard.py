"""Agents that have code of their own around their tools or models: it is told of a failure before a person is.

Such code is a capability that wraps tools, requests or runs, or deals with their errors, or a tool set that is wrapped
around another one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_ai.capabilities import AbstractCapability, Hooks, ModelFallback
from pydantic_ai.capabilities.abstract import CapabilityOrdering, WrapModelRequestHandler
from pydantic_ai.durable_exec import replay_scope
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    SkipModelRequest,
    SkipToolExecution,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
    UsageLimitExceeded,
)
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, WrapperToolset

from orbiter.guests.handled_failures import HandledCall
from orbiter.guests.pydantic_ai.life import Life, current_life, entered
from orbiter.steps import Aborted, Skipped

R = TypeVar("R")

_STEERING = (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    SkipModelRequest,
    SkipToolExecution,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
    ValidationError,
)
"""What is raised around a tool or a model to steer pydantic-ai."""
_AROUND_TOOLS = ("wrap_tool_execute", "on_tool_execute_error")
_AROUND_MODELS = (
    "wrap_model_request",
    "on_model_request_error",
    "wrap_node_run",
    "on_node_run_error",
    "wrap_run",
    "on_run_error",
)
"""The methods of a capability that are told of a failure."""
_OF_THE_FRAMEWORK = "pydantic_ai."


class FailureGuard(AbstractCapability[Any]):
    """Asks a person of a failure that comes out of all code around a tool, or around a request to a model.

    Args:
        handles: The agent has a tool set that may deal with failures.
    """

    def __init__(self, *, handles: bool) -> None:
        self.handles = handles

    def get_ordering(self) -> CapabilityOrdering:
        """Outside of all others."""
        return CapabilityOrdering(position="outermost")

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        """Call the tool, with all code around it."""
        life = current_life()
        if life is None or not (self.handles or _told_of_failures(ctx.root_capability, _AROUND_TOOLS)):
            return await handler(args)
        return await HandledCall(life).through(lambda: handler(dict(args)), _STEERING)

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: WrapModelRequestHandler
    ) -> ModelResponse:
        """Ask the model, with all code around it. pydantic-ai lets it be asked once, so that the run begins again for
        what a person decides: `run_settled`.
        """
        life = current_life()
        if life is not None:
            life.failed = None
        if life is None or not _told_of_failures(ctx.root_capability, _AROUND_MODELS):
            return await handler(request_context)
        turn = life.turn
        call = life.request = HandledCall(life, settled=life.settled.get(turn))
        try:
            return await handler(request_context)
        except (Aborted, Skipped, UsageLimitExceeded, *_STEERING):
            raise
        except Exception:
            if call.settle is not None and call.settled is None:
                life.failed = (turn, call)
            raise
        finally:
            life.request = None


async def run_settled(begin: Callable[[], Life], run: Callable[[Life], Awaitable[R]]) -> R:
    """Run an agent from its start, and again once a person has decided what becomes of a request to a model whose
    failure came out of all code of the agent's own. What is recorded is recalled.

    Args:
        begin: Makes a life of the run.
        run: Runs the agent in it.

    Raises:
        Exception: What `run` raises for another reason.
    """
    settled: dict[int, Any] = {}
    while True:
        life = begin()
        life.settled = settled
        try:
            return await run(life)
        except Exception as exc:
            if life.failed is None or isinstance(exc, Aborted | Skipped):
                raise
            turn, call = life.failed
            assert call.settle is not None
            with entered(life), replay_scope():
                settled[turn] = await call.settle(exc)


def handles_failures(toolset: AbstractToolset[Any]) -> bool:
    """Whether a tool set is, or has in it, one of a user's own that calls the tools of another one."""
    if isinstance(toolset, CombinedToolset):
        return any(map(handles_failures, toolset.toolsets))
    if not isinstance(toolset, WrapperToolset):
        return False
    own = not type(toolset).call_tool.__module__.startswith(_OF_THE_FRAMEWORK)
    return own or handles_failures(toolset.wrapped)


def _told_of_failures(root: AbstractCapability[Any] | None, methods: tuple[str, ...]) -> bool:
    """Whether one of the capabilities of a run's own is told of failures by one of these methods."""
    found: list[AbstractCapability[Any]] = []
    if root is not None:
        root.apply(found.append)
    return any(_is_told(each, methods) for each in found if not isinstance(each, FailureGuard))


def _is_told(capability: AbstractCapability[Any], methods: tuple[str, ...]) -> bool:
    if isinstance(capability, ModelFallback):
        return methods is _AROUND_MODELS
    if type(capability) is Hooks:
        # Private in pydantic-ai. A version without it: taken as told, then a person is asked after the hooks.
        registered = getattr(capability, "_get", None)
        return registered is None or any(map(registered, methods))
    found = (getattr(type(capability), name) for name in methods)
    return not all(method.__module__.startswith(_OF_THE_FRAMEWORK) for method in found)
