"""An agent of the OpenAI Agents SDK as a guest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from agents import MaxTurnsExceeded, Model, RunResult, Session
from agents.run import DEFAULT_MAX_TURNS

from orbiter._internal.keywords import name_nearest_keyword
from orbiter.guests.guest import Guest
from orbiter.guests.openai_agents.clones import describe
from orbiter.guests.openai_agents.life import GuestOptions
from orbiter.guests.openai_agents.messages import to_ours, to_theirs
from orbiter.guests.openai_agents.runner import install, run_agent
from orbiter.guests.typed_values import as_text
from orbiter.steps import Scope
from orbiter.types import Message, Usage
from orbiter.types import RunResult as OurResult


class OpenAIAgentsGuest(Guest):
    """An agent of the OpenAI Agents SDK.

    Args:
        name: See `Guest`.
        agent: See `Guest`.
        factory: See `Guest`.
        context: What tools get as `ctx.context`; a function without parameters is called for it in every run. What
            calls change of it is recorded with them.
        session: Where the conversation is kept; a function without parameters is called for it in every run.
        models: Models that an operator may choose in place of the agent's own, by the name under which they are chosen.
            Names that the run's model provider knows need not stand here.
        tools: What is declared of tools, by the tool's name, as under `[guests.tools.NAME]`.
        tracing: Let the SDK trace recorded runs, and send its traces where it is configured to.
        run_options: Further arguments of `Runner.run`, as `max_turns` and `run_config`.
    """

    framework: ClassVar[str] = "openai-agents"

    @name_nearest_keyword("guest", without=("agent", "factory"))
    def __init__(
        self,
        name: str,
        agent: Any,
        factory: Callable[[], Any] | None,
        *,
        context: Any = None,
        session: Session | Callable[[], Session] | None = None,
        models: Mapping[str, Model] | None = None,
        tools: Mapping[str, Mapping[str, Any]] | None = None,
        tracing: bool = False,
        run_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, agent, factory)
        self._context = context
        self._session = session
        self._options = GuestOptions(dict(models or {}), dict(tools or {}), tracing)
        self._run_options = dict(run_options or {})
        self._runner = install()

    def _describe(self, agent: Any) -> dict[str, Any]:
        return describe(agent)

    def _arguments(self) -> dict[str, Any]:
        session = self._session() if callable(self._session) else self._session
        context = self._context() if callable(self._context) else self._context
        return {"context": context, **({"session": session} if session is not None else {}), **self._run_options}

    async def _run_alone(self, agent: Any, input: str, messages: list[Message] | None) -> OurResult:
        return self._result(await self._runner.run(agent, _asked(input, messages), **self._arguments()))

    async def _run_durably(self, agent: Any, input: str, messages: list[Message] | None, scope: Scope) -> OurResult:
        arguments = self._arguments()
        turns = arguments.get("max_turns", DEFAULT_MAX_TURNS)
        limit = turns
        while True:
            try:
                asked = _asked(input, messages)
                result = await run_agent(scope, agent, asked, self._options, {**arguments, "max_turns": limit})
                return self._result(result)
            except MaxTurnsExceeded as exc:
                input = await self._recover(exc, input, scope)
                # It is run again from its start, where everything is recalled, and may take as many turns once more.
                limit += turns

    def _result(self, result: RunResult) -> OurResult:
        used = result.context_wrapper.usage
        output = result.final_output
        return OurResult(
            output=as_text(output),
            messages=to_ours(result.to_input_list()),
            usage=Usage(
                input_tokens=used.input_tokens,
                output_tokens=used.output_tokens,
                total_tokens=used.total_tokens,
                cached_tokens=used.input_tokens_details.cached_tokens,
            ),
            steps=1,
            parsed=None if isinstance(output, str) else output,
            agent=self.name,
        )


def _asked(input: str, messages: list[Message] | None) -> Any:
    return [*to_theirs(messages), {"role": "user", "content": input}] if messages else input
