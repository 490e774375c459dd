"""Link verbs: each request that has a handler, by its verb.

A verb either looks or acts (`Request.acts`). Looking changes nothing, so its reply is not kept and a viewer may do it.
Acting is done once for each command id: its reply is stored in the journal, and a command that comes again, even to a
runtime that was restarted in between, gets the stored reply.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.operations.agent_rules import AgentRules
from runtime.operations.context import Origin
from runtime.operations.handler_table import HANDLERS
from runtime.operations.operations import Operations
from runtime.operations.requests.reports import RuntimeStatus, ShowStatus, Stopping, StopRuntime
from runtime.operations.requests.struct import Request


@dataclass(slots=True, frozen=True)
class Verb:
    """A request and what carries it out. `run` raises `OperationError` or another `OrbiterError`."""

    request: type[Request[Any]]
    run: Callable[[Any, Origin], Awaitable[Any]]


def operation_verbs(operations: Operations) -> dict[str, Verb]:
    """The verbs of a workspace's operations."""
    return {kind.verb: Verb(kind, operations.run) for kind in HANDLERS}


def with_agent_rules(verbs: Mapping[str, Verb], rules: AgentRules) -> dict[str, Verb]:
    """The same verbs; what an agent asks is checked first."""

    def checked(verb: Verb) -> Verb:
        async def run(request: Any, origin: Origin) -> Any:
            if origin.by.channel == "mcp":
                await rules.check(request, origin)
            return await verb.run(request, origin)

        return Verb(verb.request, run)

    return {name: checked(verb) for name, verb in verbs.items()}


def runtime_verbs(status: Callable[[], RuntimeStatus], stop: Callable[[], None]) -> dict[str, Verb]:
    """`status` and `stop`: the two that every later version must go on to understand."""

    async def show(_request: ShowStatus, _origin: Origin) -> RuntimeStatus:
        return status()

    async def end(_request: StopRuntime, _origin: Origin) -> Stopping:
        stop()
        return Stopping()

    return {ShowStatus.verb: Verb(ShowStatus, show), StopRuntime.verb: Verb(StopRuntime, end)}
