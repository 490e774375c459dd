"""What `run` takes from users in place of our own classes: an object that runs, and an object that answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol


class Runnable(Protocol):
    """What `run` takes: an `Agent`, a `Swarm`, a group, a guest, or an object of your own with these two.

    Attributes:
        name: The name of its node in the run's tree.
        run: The coroutine function that runs it: ``(input, *, messages, provider, max_retries)``.

    Examples:
        >>> from orbiter import Agent, Runnable
        >>> runnable: Runnable = Agent(name="writer", model="openai:gpt-4o")
        >>> runnable.name
        'writer'
    """

    @property
    def name(self) -> str:
        """The name of its node."""
        ...

    @property
    def run(self) -> Callable[..., Awaitable[Any]]:
        """The coroutine function that runs it on an input.

        Its parameters: ``(input, *, messages, provider, max_retries)``.
        """
        ...


class ChatProvider(Protocol):
    """What answers for a model: a `ModelProvider`, or an object of your own with this method.

    Attributes:
        complete: The coroutine function that answers: ``(messages, *, tools, temperature, max_tokens)``.

    Examples:
        >>> from types import SimpleNamespace
        >>> from orbiter import Agent, run
        >>> class Parrot:
        ...     async def complete(self, messages, *, tools=None, temperature=None, max_tokens=None):
        ...         return SimpleNamespace(content=messages[-1].content, tool_calls=[], usage=None)
        >>> run.sync(Agent(name="echo"), "Polly?", provider=Parrot()).output
        'Polly?'
    """

    @property
    def complete(self) -> Callable[..., Awaitable[Any]]:
        """The coroutine function that answers a conversation; its result has `content`, `tool_calls` and `usage`.

        Its parameters: ``(messages, *, tools, temperature, max_tokens)``.
        """
        ...
