"""`guest`: an agent of another framework as one of ours, and the base class of what it gives."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar

from orbiter import steps
from orbiter.errors import AgentConfigurationError
from orbiter.guests.factories import complete_factory
from orbiter.guests.frameworks import FRAMEWORKS, Framework, check_version, framework_of
from orbiter.guests.typed_values import as_text
from orbiter.steps import Scope, Skipped
from orbiter.types import ChatProvider, Message, RunResult


class Guest(ABC):
    """An agent of another framework. It has what `run` and `Swarm` ask of an agent: a name, and `run`.

    Args:
        name: What the agent is called in the run's tree and in records. A run that is taken up again must find the
            same name.
        agent: The agent; None where `factory` makes it.
        factory: Makes the agent again for every run, where one object cannot serve several.
    """

    framework: ClassVar[str]
    """The framework's name, as it is shown."""

    def __init__(self, name: str, agent: Any, factory: Callable[[], Any] | None) -> None:
        self.name = name
        self._agent = agent
        self._factory = factory

    def __repr__(self) -> str:
        return f"<guest {self.name!r} ({self.framework})>"

    @property
    def tools(self) -> Any:
        """A team's lead is given tools; a guest cannot be.

        Raises:
            AgentConfigurationError: Always.
        """
        raise AgentConfigurationError(
            f"the guest {self.name!r} cannot lead a team: it takes no tools but its own",
            suggestion="Let one of our agents lead, and the guest be a worker.",
        )

    def _take_agent(self) -> Any:
        """The agent for one run: the one there is, or a new one from the factory. The factory's first one, made to see
        what it makes, serves the first run.
        """
        if self._factory is None:
            return self._agent
        made, self._agent = self._agent, None
        return made if made is not None else self._factory()

    async def run(
        self,
        input: str,
        *,
        messages: list[Message] | None = None,
        provider: ChatProvider | None = None,
        max_retries: int = 3,
    ) -> RunResult:
        """Run the agent on a user's message.

        Args:
            input: What the user says.
            messages: The conversation before.
            provider: Ignored: the agent's own model is asked.
            max_retries: Ignored: without a runtime the framework's own retries hold, under one the runtime's.

        Raises:
            Exception: What the framework raises, where no operator can be asked.
        """
        if not steps.inside():
            return await self._run_alone(self._take_agent(), input, messages)
        agent = self._take_agent()
        info = {"task": input, "framework": self.framework, **self._describe(agent)}
        async with steps.opening("agent", self.name, info) as scope:
            if (corrected := scope.corrected_input()) is not None:
                input = _as_text(corrected)
            try:
                result = await self._run_with_recovery(agent, input, messages, scope)
            except Skipped as skipped:  # a step of it or, as the answer to its own fault, the whole of it
                result = RunResult(output=_as_text(skipped.value), steps=1, agent=self.name)
            scope.outcome(result.output)
            return result

    async def _run_with_recovery(
        self, agent: Any, input: str, messages: list[Message] | None, scope: Scope
    ) -> RunResult:
        while True:
            try:
                return await self._run_durably(agent, input, messages, scope)
            except Skipped:
                raise
            except Exception as exc:
                input = await self._recover(exc, input, scope)

    async def _recover(self, exc: Exception, input: str, scope: Scope) -> str:
        """The input with which the agent is run again after a failure outside its steps; recorded steps are recalled.

        Raises:
            Exception: `exc`, where it is not to be healed.
        """
        answer = await scope.fault(exc)
        if answer.option == "input":
            return _as_text(answer.value)
        if answer.option != "retry":
            raise exc
        return input

    @abstractmethod
    def _describe(self, agent: Any) -> dict[str, Any]:
        """What a person wants to know of the agent, as JSON: `model`, `tools`."""

    @abstractmethod
    async def _run_alone(self, agent: Any, input: str, messages: list[Message] | None) -> RunResult:
        """Run it as the framework alone does."""

    @abstractmethod
    async def _run_durably(self, agent: Any, input: str, messages: list[Message] | None, scope: Scope) -> RunResult:
        """Run it from its start, each call that touches the world as a step of `scope`."""


def guest(agent: object, *, name: str = "", **options: object) -> Guest:
    """An agent of another framework, to be run and to stand in a `Swarm` as our own do.

    Args:
        agent: The agent, or a function without parameters that makes it. A function is called again for every run. One
            that takes `middleware`, as LangChain's `create_agent` does, is given ours.
        name: What it is called; else its own name. An agent that is named by a reference (`file.py:name`) and has no
            name takes that of the reference.
        **options: The framework's own, as its page says: `deps` and `models` for pydantic-ai.

    Returns:
        What `run` and `Swarm` take.

    Raises:
        AgentError: It is not an agent of a framework that is known here.
        ConfigurationError: The framework's installed version is not supported.

    Examples:
        >>> from pydantic_ai import Agent
        >>> from pydantic_ai.models.test import TestModel
        >>> from orbiter import run
        >>> from orbiter.guests import guest
        >>> greeter = guest(Agent(TestModel(custom_output_text="Hi."), name="greeter"))
        >>> run.sync(greeter, "Hello").output
        'Hi.'
    """
    factory = None
    framework = framework_of(agent)
    if inspect.iscoroutinefunction(agent):
        raise AgentConfigurationError(
            f"guest() takes a function that makes an agent at once; {agent.__name__} is an async function",
            suggestion=f"Write it with def, as in def {agent.__name__}(): return Agent('openai:gpt-5').",
        )
    if framework is None and callable(agent):
        factory = complete_factory(agent)
        agent = factory()
        framework = framework_of(agent)
    if framework is None:
        known = ", ".join(each.name for each in FRAMEWORKS)
        raise AgentConfigurationError(
            f"guest() takes an agent of {known}, or a function that makes one, got {type(agent).__name__}",
            suggestion="Pass the framework's agent itself, as in guest(Agent('openai:gpt-5')).",
        )
    own = getattr(agent, "name", None) or ""
    return _adapter(framework)(name or (own if own != framework.unnamed else ""), agent, factory, **options)


def _adapter(framework: Framework) -> type[Guest]:
    """The class that runs agents of a framework, imported now."""
    check_version(framework)
    module, _, name = framework.adapter.partition(":")
    adapter: type[Guest] = getattr(import_module(module), name)
    return adapter


def _as_text(value: Any) -> str:
    return "" if value is None else as_text(value)
