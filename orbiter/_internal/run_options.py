"""The options of a run: the keywords of `run`, `run.sync`, `run.stream` and of what a swarm or group offers itself."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypedDict, TypeVar

from orbiter._internal.arguments import PROVIDER, WHOLE, check_argument
from orbiter._internal.keywords import fill_keywords
from orbiter.types import ChatProvider, Message

if TYPE_CHECKING:
    from orbiter.policy import ErrorHandlingConfig


class RunOptions(TypedDict, total=False):
    """How an agent, a swarm or a group is run."""

    messages: list[Message] | None
    """The conversation before."""
    provider: ChatProvider | None
    """Who answers; None: each agent's own model string decides."""
    max_retries: int
    """Attempts for each model call, 1, 2, 4 … s apart; 3 if not given."""
    loop_threshold: int
    """Equal tool calls in a row that make an endless loop; 3 if not given, 0 or less: no check."""
    errors: ErrorHandlingConfig | None
    """How failures are handled in it (seed 003); over what swarms in it declare. None: as they say."""


class StreamOptions(RunOptions, total=False):
    """How a run is told as events."""

    max_steps: int | None
    """Goes before the agent's own."""
    detailed: bool
    """Everything, and that of a team's workers and of runs inside tools too."""
    event_types: Collection[str] | None
    """The types that are wanted."""


RUN_DEFAULTS: RunOptions = {"messages": None, "provider": None, "max_retries": 3, "loop_threshold": 3, "errors": None}
STREAM_DEFAULTS: StreamOptions = {**RUN_DEFAULTS, "max_steps": None, "detailed": False, "event_types": None}


class RunSettings(NamedTuple):
    """What `run` was told, for every member alike. `provider` None: each member's own model decides."""

    provider: Any
    max_retries: int
    loop_threshold: int

    @classmethod
    def of(cls, options: RunOptions) -> Self:
        """Of options that have all their keys."""
        return cls(options["provider"], options["max_retries"], options["loop_threshold"])


O = TypeVar("O", bound=RunOptions)  # noqa: E741 - the options of a run


def read_run_options(function: str, given: O, defaults: O) -> O:
    """The options that `function` was given, and the default of each other one.

    Raises:
        TypeError: An option that `function` does not have, or one of the wrong kind.
    """
    told = fill_keywords(function, given, defaults)
    retries, threshold, provider = told["max_retries"], told["loop_threshold"], told["provider"]
    owner = f"{function}()"
    check_argument(owner, "max_retries", retries, WHOLE, example="3", error=TypeError)
    check_argument(owner, "loop_threshold", threshold, WHOLE, example="3, or 0 for no check", error=TypeError)
    if not (provider is None or PROVIDER.takes(provider)):
        check_argument(owner, "provider", provider, PROVIDER, example="get_provider('openai:gpt-4o')", error=TypeError)
    return told
