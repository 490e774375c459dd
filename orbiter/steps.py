"""The seam between the framework and a runtime: scope, step, fault, turn.

Four verbs, all methods of `Scope`: `scope` (a node opens and closes), `step` (an effect on the world),
`fault` (a node failed outside a step) and `turn` (where breakpoints and injected messages act).

Plain ``await run(agent, …)`` uses `DIRECT`, the scope that does nothing of its own: it calls, retries as
seed 000 says, and raises. A durable runtime brings its own `Scope` and places it with `entered`; framework
code is the same under both. Nothing here knows of journals, and nothing in a runtime knows of agents.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Self, TypeVar

if TYPE_CHECKING:
    from orbiter.types import Message, Usage


A = TypeVar("A")
R = TypeVar("R")

ScopeKind = Literal["swarm", "group", "agent", "tool"]
StepKind = Literal["llm", "tool", "value"]
Emit = Callable[[Literal["text", "reasoning"], str], None]
"""Takes a piece of a reply while it streams. Pieces are for eyes only: the reply that is returned is the truth."""


class Place(NamedTuple):
    """Where a node stands among its siblings.

    `seq` counts what happens one after another (stage, turn, hop, visit); `par` counts what happens side by
    side at the same `seq` (member of a parallel group, call of a model's reply) and is None where nothing does.
    Both come from declaration, from the model's reply or from visits, never from the order in which tasks start:
    that is what makes a path mean the same thing in every life of a run.
    """

    seq: int
    par: int | None = None

    def __str__(self) -> str:
        return f"{self.seq}" if self.par is None else f"{self.seq}.{self.par}"


def segment(name: str, place: Place) -> str:
    """One element of a node's path: ``name~seq`` or ``name~seq.par``; `/`, `~` and `%` in names are escaped."""
    if "%" in name or "/" in name or "~" in name:
        name = name.replace("%", "%25").replace("/", "%2F").replace("~", "%7E")
    return f"{name}~{place}"


@dataclass(slots=True, frozen=True)
class Traits:
    """What an operator or a policy must know of a step before it runs, as its author declared it."""

    idempotent: bool = False
    permissions: tuple[str, ...] = ()
    timeout: float | None = None
    """Seconds for one attempt; None: no limit of its own."""
    risk: str = ""
    failure: Literal["", "fail", "degrade", "continue"] = ""
    """What a failure of this step means once retries are spent; empty: the default of its kind."""
    fallbacks: tuple[str, ...] = ()
    """Model strings to try in turn when this one fails for good or its breaker is open."""
    schema: Mapping[str, Any] | None = None
    """JSON schema of a tool's arguments, for the form with which an operator edits them."""
    result_type: Any = None
    """What a result given by hand must fit: an agent's output type, a tool's return type."""
    classify_error: Callable[[Exception, dict[str, Any]], Any] | None = None
    retry_policy: Callable[[], Mapping[str, Any]] | None = None


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
    """As `call`, but hands out pieces on the way; None where the provider does not declare streaming."""
    tries: int = 1
    """Attempts under plain `run`. A runtime has a policy of its own."""
    not_retryable: Callable[[Exception], bool] | None = None
    """Under plain `run`: failures that no second attempt can heal."""


@dataclass(slots=True, frozen=True)
class Answer:
    """What came back for a fault. `retry`: do it again. `input`: go on with `value`. The caller refuses others."""

    option: str
    value: Any = None


class Skipped(BaseException):
    """An operator let a node be skipped; `value` stands for its output. For that node's framework code to catch."""

    def __init__(self, value: Any = "") -> None:
        super().__init__("skipped by an operator")
        self.value = value


class Aborted(Exception):
    """An operator ended this branch. Passes through faults undisturbed: it has been decided already."""


class HandedBack(Aborted):
    """A runtime gives a failure back to the swarm, instead of asking a person. Decided already, as `Aborted` is.

    `remedy` is what is wanted: ``replan`` and ``reroute`` (the agent `to` goes on, with `reason`), ``stand_in`` (the
    next of the agents that stand in), ``go_on`` (past the failed agent), ``degrade`` (the agent ends with what it has).
    `scope` is the id of the node whose code takes it up; others let it pass.
    """

    def __init__(self, reason: str, *, remedy: str = "", scope: str = "", to: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.scope = scope
        self.to = to


class Scope(ABC):
    """A node of a run that is open. Also the seam itself: every verb is said to the node it concerns."""

    __slots__ = ()

    @property
    def run_id(self) -> str:
        """The run to which the node belongs; empty under plain `run`."""
        return ""

    @property
    def node_id(self) -> str:
        """The node's path within its run; empty under plain `run`."""
        return ""

    @abstractmethod
    def scope(
        self, kind: ScopeKind, name: str, place: Place | None = None, info: Mapping[str, Any] | None = None
    ) -> Scope:
        """A child node, opened by ``async with``. Without a place it gets the next visit's.

        `info` is what a person wants to know of it, as JSON: `task`, `model`, `mode`, `members`.
        """

    @abstractmethod
    async def step(self, step: Step[A, R]) -> R:
        """Carry out one effect. Raises what is left of a failure after retries, or waits for as long as a person
        is needed.
        """

    @abstractmethod
    async def fault(self, exc: Exception, *, at: int | None = None) -> Answer:
        """This node failed outside a step. Raises `exc`, or returns how to go on.

        `at` names a fixed spot (a turn) where the caller goes on in place; without it the caller does its body again,
        and recorded steps are recalled.
        """

    @abstractmethod
    async def turn(self, number: int, messages: list[Message]) -> None:
        """A new turn of an agent begins: may wait at a breakpoint, and may append injected messages."""

    def recorded(self, name: str, place: Place) -> Any:
        """The value that an earlier life of the run recorded under this node (a step of kind ``value``); None where
        it has recorded none. For asking before anything is done that it makes unnecessary.
        """
        return None

    def outcome(  # noqa: B027 - the direct scope has no use for it
        self, output: str = "", *, state: Literal["succeeded", "degraded"] = "succeeded", note: str = ""
    ) -> None:
        """Say what the node came to, before it closes."""

    def warn(self, text: str) -> None:  # noqa: B027 - the direct scope has no use for it
        """Something an operator should know that is not a fault."""

    def late(self, result: Any, error: BaseException | None) -> None:  # noqa: B027 - as above
        """A blocking call of this node that had been given up came back after all. Its result is not used."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        return None


async def sleep(seconds: float) -> None:
    """What waits between attempts; a program that replaces ``asyncio.sleep`` replaces this wait too."""
    await asyncio.sleep(seconds)


async def back_off(attempt: int) -> None:
    """Waits after the `attempt`-th failed attempt, of 1, without a runtime: 1, 2, 4 … seconds."""
    await sleep(2.0 ** (attempt - 1))


class DirectScope(Scope):
    """The scope of plain `run`: no record, no one to wait for. There is one, `DIRECT`, and it is its own child."""

    __slots__ = ()

    def scope(
        self, kind: ScopeKind, name: str, place: Place | None = None, info: Mapping[str, Any] | None = None
    ) -> Scope:
        return self

    async def step(self, step: Step[A, R]) -> R:
        """PRE hooks, up to `tries` attempts 1, 2, 4 … s apart (seed 000), POST hooks. A hook's error is raised as
        it is.
        """
        arguments = step.arguments
        if step.before is not None:
            await step.before(arguments)
        attempt = 1
        while True:
            try:
                result = await step.call(arguments)
                break
            except Exception as exc:
                absorbed = step.codec.absorb(arguments, exc)
                if absorbed is not None:
                    result = absorbed
                    break
                if attempt >= step.tries or (step.not_retryable is not None and step.not_retryable(exc)):
                    raise
            await back_off(attempt)
            attempt += 1
        if step.after is not None:
            await step.after(arguments, result)
        return result

    async def fault(self, exc: Exception, *, at: int | None = None) -> Answer:
        raise exc

    async def turn(self, number: int, messages: list[Message]) -> None:
        return None


DIRECT = DirectScope()


@dataclass(slots=True)
class _Slot:
    """A place that a container keeps for the child it is about to run.

    A child whose own code runs the agent more than once (a subclass that asks twice) uses it as often: later uses get
    names of their own, so that no two nodes share a path.
    """

    parent: Scope
    place: Place
    uses: int = 0

    def open(self, kind: ScopeKind, name: str, info: Mapping[str, Any] | None) -> Scope:
        self.uses += 1
        return self.parent.scope(kind, name if self.uses == 1 else f"{name}#{self.uses}", self.place, info)


_current: ContextVar[Scope | _Slot | None] = ContextVar("orbiter_scope", default=None)


def current() -> Scope:
    """The innermost open scope of this task; `DIRECT` outside any runtime."""
    found = _current.get()
    if found is None:
        return DIRECT
    return found.parent if isinstance(found, _Slot) else found


def inside() -> bool:
    """Whether any runtime carries this task's run; False is plain `run`."""
    return _current.get() is not None


class entered:  # noqa: N801 - reads as a verb at its uses: ``with entered(scope)``
    """Make `scope` the current one for what runs inside.

    Never in a generator's body: a generator shares its caller's context.
    """

    __slots__ = ("_scope", "_token")

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._token: Any = None

    def __enter__(self) -> Scope:
        if self._scope is not DIRECT:
            self._token = _current.set(self._scope)
        return self._scope

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        if self._token is not None:
            _current.reset(self._token)


@contextmanager
def at(scope: Scope, place: Place) -> Iterator[None]:
    """Keep `place` under `scope` for the one child that runs inside; the child takes it with `opening`."""
    if scope is DIRECT:
        yield
        return
    token = _current.set(_Slot(scope, place))
    try:
        yield
    finally:
        _current.reset(token)


class opening:  # noqa: N801 - reads as a verb at its only use: ``async with opening("agent", name) as scope``
    """Open the node that the code inside is, where its caller placed it (or as the next visit), and make it current."""

    __slots__ = ("_entered", "_info", "_kind", "_name", "_scope")

    def __init__(self, kind: ScopeKind, name: str, info: Mapping[str, Any] | None = None) -> None:
        self._kind: ScopeKind = kind
        self._name = name
        self._info = info
        self._scope: Scope = DIRECT
        self._entered: Any = None

    async def __aenter__(self) -> Scope:
        found = _current.get()
        if found is None:
            return DIRECT
        if isinstance(found, _Slot):
            scope = found.open(self._kind, self._name, self._info)
        else:
            scope = found.scope(self._kind, self._name, None, self._info)
        self._scope = await scope.__aenter__()
        self._entered = _current.set(self._scope)
        return self._scope

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._scope is DIRECT:
            return
        _current.reset(self._entered)
        await self._scope.__aexit__(kind, exc, tb)
