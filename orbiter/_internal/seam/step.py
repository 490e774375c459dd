"""What a step is: where it stands, what its author declared of it, and how it is written down."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from orbiter.errors import ToolCallError
    from orbiter.types import Usage


A = TypeVar("A")
R = TypeVar("R")

StepKind = Literal["llm", "tool", "value"]
Emit = Callable[[Literal["text", "reasoning"], str], None]
"""Takes a piece of a reply while it streams. Pieces are for eyes only: the reply that is returned is the truth."""


class Place(NamedTuple):
    """Where a node stands among its siblings.

    `seq` counts what happens one after another (stage, turn, hop, visit); `par` counts what happens side by
    side at the same `seq` (member of a parallel group, call of a model's reply) and is None where nothing does.
    Both come from declaration, from the model's reply or from visits, never from the order in which tasks start:
    that is what makes a path mean the same thing in every life of a run.

    Attributes:
        seq: Counts what happens one after another.
        par: Counts what happens side by side; None where nothing does.

    Examples:
        >>> from orbiter.steps import Place
        >>> str(Place(2)), str(Place(2, 0))
        ('2', '2.0')
    """

    seq: int
    par: int | None = None

    def __str__(self) -> str:
        return f"{self.seq}" if self.par is None else f"{self.seq}.{self.par}"


def segment(name: str, place: Place) -> str:
    """One element of a node's path: ``name~seq`` or ``name~seq.par``; `/`, `~` and `%` in names are escaped.

    Args:
        name: The node's name.
        place: Where it stands among its siblings.

    Returns:
        The element, such as ``search~0.1``.
    """
    if "%" in name or "/" in name or "~" in name:
        name = name.replace("%", "%25").replace("/", "%2F").replace("~", "%7E")
    return f"{name}~{place.seq}" if place.par is None else f"{name}~{place.seq}.{place.par}"


@dataclass(slots=True, frozen=True)
class Traits:
    """What an operator or a policy must know of a step before it runs, as its author declared it.

    Attributes:
        idempotent: Whether it may be made again without harm when its outcome is not known.
        permissions: What it needs, each as ``verb:object``; ``{name}`` stands for an argument.
        risk: What may go wrong, in words for the operator.
        classify_error: Its author's judgement of a failure: ``(exception, context) -> classification``.
        retry_policy: Its author's retry settings.
        timeout: Seconds for one attempt; None: no limit of its own.
        failure: What a failure of this step means once retries are spent; empty: the default of its kind.
        fallbacks: Model strings to try in turn when this one fails for good or its breaker is open.
        schema: JSON schema of a tool's arguments, for the form with which an operator edits them.
        result_type: What a result given by hand must fit: an agent's output type, a tool's return type.
        classify_around: Who judges a failure of which `classify_error` says nothing: the agent and the swarms around.
        server: The MCP server that the step needs: it has to be approved, and all its steps share one breaker.
        not_offered: Options that it does not take, by their ids: no operator is offered them.
    """

    idempotent: bool = False
    permissions: tuple[str, ...] = ()
    timeout: float | None = None
    risk: str = ""
    failure: Literal["", "fail", "degrade", "continue"] = ""
    fallbacks: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
    result_type: Any = None
    classify_error: Callable[[Exception, dict[str, Any]], Any] | None = None
    classify_around: Callable[[Exception, dict[str, Any]], Any] | None = None
    retry_policy: Callable[[], Mapping[str, Any]] | None = None
    server: str = ""
    not_offered: frozenset[str] = frozenset()


NO_TRAITS = Traits()


class Codec(ABC, Generic[A, R]):
    """How a kind of step is written down, read back and changed by a decision. One instance per kind."""

    @abstractmethod
    def describe(self, arguments: A) -> dict[str, Any]:
        """The requested arguments as JSON: what is recorded, and compared when the step is recalled."""

    def describe_masked(self, arguments: A, mask: Callable[[Any], Any]) -> dict[str, Any]:
        """`describe` of what is kept of the arguments, where `mask` takes secrets out: a later life, which has no more
        than that, describes the same.
        """
        masked: dict[str, Any] = mask(self.describe(arguments))
        return masked

    @abstractmethod
    def dump(self, result: R) -> Any:
        """The result as JSON."""

    @abstractmethod
    def load(self, value: Any) -> R:
        """The result from what `dump` wrote."""

    def editable(self, arguments: A) -> dict[str, Any] | None:
        """What a PRE hook may edit in place, as JSON; None if nothing."""
        return None

    def replace(self, arguments: A, changes: Mapping[str, Any]) -> A:
        """Arguments with `changes` put in (keys as in `describe`, `editable`), in place where the caller shares
        them.
        """
        raise NotImplementedError(f"{type(self).__name__} takes no changes")

    def absorb(self, arguments: A, exc: Exception) -> R | None:
        """A failure as a result that the model can read; None if this kind of step has no such form."""
        return None

    def misfit(self, arguments: A) -> ToolCallError | None:
        """With what the call would fail because its arguments do not fit; None where it is not known to."""
        return None

    def by_hand(self, arguments: A, value: Any) -> R:
        """A result that an operator gave in place of the step's own."""
        return self.load(value)

    def usage(self, result: R) -> Usage | None:
        """Tokens that the step used, if it used any."""
        return None


@dataclass(slots=True, eq=False)
class Step(Generic[A, R]):
    """One effect on the world.

    `call` takes the arguments and closes over nothing, so that a decision may replace model, messages or
    arguments. `before` and `after` are the PRE and POST hooks, None where none is registered.

    Attributes:
        kind: ``llm``, ``tool``, or ``value`` (something that is computed once and recorded).
        name: The tool's name, or the model string.
        agent: The agent that does it.
        place: Where it stands among its siblings.
        arguments: What `call` gets.
        call: Does it.
        codec: How arguments and result are written down.
        traits: What its author declared.
        before: The PRE hooks.
        after: The POST hooks.
        stream: As `call`, but hands out pieces on the way; None where the provider does not declare streaming.
        tries: Attempts under plain `run`. A runtime has a policy of its own.
        not_retryable: Under plain `run`: failures that no second attempt can heal.
        continues: Earlier steps of the same name beside this one whose call this is still, with the same arguments: a
            permission that was given once to one of them is given to this one, too.
        handled: The code that called deals with failures: one is recorded as what `Codec.absorb` makes of it, without a
            second attempt and without asking a person.
        failed: With what an earlier step of this call failed, that was `handled`. It stands for the first attempt,
            which is not made.
        refused: The call cannot be made as it was requested: it touches nothing, and needs no permission. Other
            arguments may make it one that can.
    """

    kind: StepKind
    name: str
    agent: str
    place: Place
    arguments: A
    call: Callable[[A], Awaitable[R]]
    codec: Codec[A, R]
    traits: Traits = NO_TRAITS
    before: Callable[[A], Awaitable[None]] | None = None
    after: Callable[[A, R], Awaitable[None]] | None = None
    stream: Callable[[A, Emit], Awaitable[R]] | None = None
    tries: int = 1
    not_retryable: Callable[[Exception], bool] | None = None
    continues: tuple[Place, ...] = ()
    handled: bool = False
    failed: Exception | None = None
    refused: bool = False
