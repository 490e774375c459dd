"""The innermost open scope of a task: one context variable, and what sets it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from orbiter._internal.seam.direct_scope import DIRECT
from orbiter._internal.seam.errors_around import with_run_errors
from orbiter._internal.seam.scope import Scope, ScopeKind
from orbiter._internal.seam.step import Place


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
    """The innermost open scope of this task; `DIRECT` outside any runtime.

    Returns:
        The scope.
    """
    found = _current.get()
    if found is None:
        return DIRECT
    return found.parent if isinstance(found, _Slot) else found


def inside() -> bool:
    """Whether any runtime carries this task's run; False is plain `run`.

    Returns:
        True under a runtime.
    """
    return _current.get() is not None


class entered:  # noqa: N801 - reads as a verb at its uses: ``with entered(scope)``
    """Make `scope` the current one for what runs inside.

    Never in a generator's body: a generator shares its caller's context.

    Args:
        scope: The scope that is current inside.
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
    """Keep `place` under `scope` for the one child that runs inside; the child takes it with `opening`.

    Args:
        scope: The parent.
        place: Where the child stands.

    Returns:
        A context manager.
    """
    if scope is DIRECT:
        yield
        return
    token = _current.set(_Slot(scope, place))
    try:
        yield
    finally:
        _current.reset(token)


class opening:  # noqa: N801 - reads as a verb at its only use: ``async with opening("agent", name) as scope``
    """Open the node that the code inside is, where its caller placed it (or as the next visit), and make it current.

    Args:
        kind: What it is.
        name: Its name.
        info: What a person wants to know of it, as JSON.

    Examples:
        >>> import asyncio
        >>> from orbiter import steps
        >>> async def main():
        ...     async with steps.opening("agent", "writer") as scope:
        ...         return scope.run_id  # plain run: no runtime, no id
        >>> asyncio.run(main())
        ''
    """

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
        info = with_run_errors(self._info)
        if isinstance(found, _Slot):
            scope = found.open(self._kind, self._name, info)
        else:
            scope = found.scope(self._kind, self._name, None, info)
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
