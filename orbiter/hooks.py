"""Hooks: callables that run at seven points of an agent's life (seed 000, "In Hooks"; facts on the seven points).

A hook takes keywords. Those of its point (`agent`, `messages`, `response`, `tool_name`, `arguments`, `result`, …)
always reach it; those of `EXTRA_KEYWORDS` reach it only if its signature takes them, so the seed's three-argument hook
works. A hook that raises aborts the operation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from orbiter._internal.user_code import guard_user_code
from orbiter.errors import HookError

__all__ = ["EXTRA_KEYWORDS", "Hook", "HookError", "HookManager", "HookPoint", "run_hooks"]


class HookPoint(Enum):
    """Where a hook can stand. A hook is a callable that takes keywords; one that raises aborts the operation.

    Attributes:
        START: Before an agent's first step.
        FINISHED: After its last.
        ERROR: When the agent failed; the hook gets `error`.
        PRE_LLM_CALL: Before each call of a model; the hook gets `messages`.
        POST_LLM_CALL: After each; the hook gets `response`.
        PRE_TOOL_CALL: Before each call of a tool; the hook gets `tool_name` and `arguments`.
        POST_TOOL_CALL: After each; the hook gets `result` too.

    Examples:
        >>> from orbiter import Agent, HookPoint, run
        >>> from orbiter.models.scripted.provider import Reply, script
        >>> _ = script("quiet", [Reply("Done.")])
        >>> async def tell(**facts):
        ...     print(facts["agent"].name, "has finished")
        >>> agent = Agent(name="worker", model="scripted:quiet", hooks=[(HookPoint.FINISHED, tell)])
        >>> run.sync(agent, "Go").output
        worker has finished
        'Done.'
    """

    # Members are unique objects; Enum's own hash is a Python function and is taken several times in each step.
    __hash__ = object.__hash__

    START = "start"
    FINISHED = "finished"
    ERROR = "error"
    PRE_LLM_CALL = "pre_llm_call"
    POST_LLM_CALL = "post_llm_call"
    PRE_TOOL_CALL = "pre_tool_call"
    POST_TOOL_CALL = "post_tool_call"


_POINTS = tuple(HookPoint)

Hook = Callable[..., Any]
"""An ``async def`` that takes keywords; a plain function will do too. What it returns is ignored."""

EXTRA_KEYWORDS = frozenset({"tool_call_id", "run_id", "node_id", "step", "attempt"})
"""What a console needs to tell two calls apart; passed on only to hooks that ask for it."""


class _Registered(NamedTuple):
    hook: Hook
    declined: frozenset[str]


def _declined(hook: Hook) -> frozenset[str]:
    """The extra keywords that `hook` does not take. Read once, when it is added."""
    try:
        parameters = inspect.signature(hook).parameters
    except (TypeError, ValueError):  # a builtin without a signature: it gets what the seed's hooks get
        return EXTRA_KEYWORDS
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return frozenset()
    takes = {name for name, parameter in parameters.items() if parameter.kind is not parameter.POSITIONAL_ONLY}
    return EXTRA_KEYWORDS - takes


class HookManager:
    """Hooks by point, run in the order in which they were added.

    Attributes:
        registered: The hooks of each point at which any stands. To look: `add`, `remove` and `clear` change it.
    """

    __slots__ = ("registered",)

    def __init__(self) -> None:
        self.registered: dict[HookPoint, list[_Registered]] = {}

    def add(self, point: HookPoint, hook: Hook) -> None:
        """Add `hook` at `point`; the same hook may be added twice and then runs twice.

        Raises:
            HookError: `point` is not a `HookPoint`, or `hook` is not callable.
        """
        if point not in _POINTS:
            points = ", ".join(f"HookPoint.{known.name}" for known in HookPoint)
            raise HookError(f"Unknown hook point {point!r}", hint=f"Use one of {points}")
        if not callable(hook):
            raise HookError(f"Hook for {point.name} is not callable: {hook!r}", hint="Pass an async function")
        self.registered.setdefault(point, []).append(_Registered(hook, _declined(hook)))

    def remove(self, point: HookPoint, hook: Hook) -> None:
        """Remove the first occurrence of `hook` at `point`; one that is not registered there changes nothing."""
        for registered in self.registered.get(point, ()):
            if registered.hook == hook:
                self.registered[point].remove(registered)
                if not self.registered[point]:
                    del self.registered[point]
                return

    async def run(self, point: HookPoint, **data: Any) -> None:
        """Run the hooks of `point` one after another with `data`. The first one that raises ends it."""
        for hook, declined in tuple(self.registered.get(point, ())):
            with guard_user_code(f"a {point.name} hook"):
                outcome = hook(**({k: v for k, v in data.items() if k not in declined} if declined else data))
                if inspect.isawaitable(outcome):
                    await outcome

    def has_hooks(self, point: HookPoint) -> bool:
        """Whether any hook stands at `point`."""
        return point in self.registered

    def clear(self, point: HookPoint | None = None) -> None:
        """Remove the hooks of `point`, or all hooks."""
        if point is None:
            self.registered.clear()
        else:
            self.registered.pop(point, None)


async def run_hooks(manager: HookManager, point: HookPoint, **data: Any) -> None:
    """Run the hooks of `point` in `manager`; the same as ``manager.run(point, **data)``.

    Args:
        manager: Where the hooks are registered.
        point: Which hooks.
        **data: What they get as keywords.

    Raises:
        Exception: What a hook raises.
    """
    await manager.run(point, **data)
