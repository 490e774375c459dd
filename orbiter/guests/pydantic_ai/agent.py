"""An agent of pydantic-ai as a guest."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic_ai import Agent
from pydantic_ai.durable_exec import external_event_scope, replay_scope
from pydantic_ai.models import Model
from pydantic_ai.run import AgentRunResult

from orbiter._internal.keywords import name_nearest_keyword
from orbiter.guests.guest import Guest
from orbiter.guests.pydantic_ai.capability import OrbiterDurability
from orbiter.guests.pydantic_ai.deferred import OperatorWaiter
from orbiter.guests.pydantic_ai.failure_guard import FailureGuard, handles_failures, run_settled
from orbiter.guests.pydantic_ai.life import Life, entered
from orbiter.guests.pydantic_ai.messages import to_ours, to_theirs
from orbiter.guests.pydantic_ai.toolset_ids import name_toolsets, with_toolsets
from orbiter.guests.typed_values import as_text
from orbiter.steps import Scope
from orbiter.types import Message, RunResult, Usage


class PydanticAIGuest(Guest):
    """An agent of pydantic-ai.

    Args:
        name: See `Guest`.
        agent: See `Guest`.
        factory: See `Guest`.
        deps: What the agent's tools get as `ctx.deps`; a function without parameters is called for it in every run. It
            is not recorded.
        models: Models that an operator may choose in place of the agent's own, by the name under which they are chosen.
            Model strings need not stand here.
        run_options: Further arguments of `Agent.run`, as `usage_limits` and `model_settings`.
    """

    framework: ClassVar[str] = "pydantic-ai"

    @name_nearest_keyword("guest", without=("agent", "factory"))
    def __init__(
        self,
        name: str,
        agent: Any,
        factory: Callable[[], Any] | None,
        *,
        deps: Any = None,
        models: Mapping[str, Model] | None = None,
        run_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, agent, factory)
        self._deps = deps
        self._models = dict(models or {})
        self._run_options = dict(run_options or {})

    def _describe(self, agent: Any) -> dict[str, Any]:
        model = agent.model
        return {"model": model if isinstance(model, str) else getattr(model, "model_id", ""), "tools": _tools(agent)}

    def _arguments(self, messages: list[Message] | None) -> dict[str, Any]:
        deps = self._deps() if callable(self._deps) else self._deps
        history = {"message_history": to_theirs(messages)} if messages else {}
        # A name that pydantic-ai infers would be that of a variable here, and stay with the user's agent.
        return {"deps": deps, "infer_name": False, **history, **self._run_options}

    async def _run_alone(self, agent: Any, input: str, messages: list[Message] | None) -> RunResult:
        return self._result(await agent.run(input, **self._arguments(messages)))

    async def _run_durably(self, agent: Any, input: str, messages: list[Message] | None, scope: Scope) -> RunResult:
        return await run_settled(
            lambda: Life(scope=scope, agent=self.name), lambda life: self._run_once(agent, input, messages, life)
        )

    async def _run_once(self, agent: Any, input: str, messages: list[Message] | None, life: Life) -> RunResult:
        arguments = self._arguments(messages)
        if "model" in arguments:  # only the model of an agent itself is known in every life
            agent = copy.copy(agent)
            agent.model = arguments.pop("model")
        if isinstance(agent, Agent):
            agent = with_toolsets(agent, arguments.pop("toolsets", None) or ())
        name_toolsets(agent.toolsets)
        durability = OrbiterDurability(name=self.name, models=self._models)
        guard = FailureGuard(handles=any(map(handles_failures, agent.toolsets)))
        arguments["capabilities"] = [guard, *arguments.get("capabilities", ()), durability]
        with entered(life), replay_scope(), external_event_scope(OperatorWaiter(life)):
            result = await agent.run(input, **arguments)
        return self._result(result)

    def _result(self, result: AgentRunResult[Any]) -> RunResult:
        used = result.usage
        return RunResult(
            output=as_text(result.output),
            messages=to_ours(result.all_messages()),
            usage=Usage(
                input_tokens=used.input_tokens,
                output_tokens=used.output_tokens,
                total_tokens=used.total_tokens,
                cached_tokens=used.cache_read_tokens,
                cache_write_tokens=used.cache_write_tokens,
            ),
            steps=1,
            parsed=None if isinstance(result.output, str) else result.output,
            agent=self.name,
        )


def _tools(agent: Any) -> list[str]:
    """The names of the tools that the agent itself has; those of servers are known once they are asked."""
    found: list[str] = []
    for toolset in agent.toolsets:
        toolset.apply(lambda leaf: found.extend(getattr(leaf, "tools", {})))
    return found
