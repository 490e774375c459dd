"""What authors say of failures (seed 002), in the order in which they are asked: tool, agent, swarms inside out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from orbiter._internal.seam.step import Traits

ClassifyError = Callable[[Exception, dict[str, Any]], Any]
GetRetryPolicy = Callable[[], Mapping[str, Any]]


class Author(NamedTuple):
    """What the author of an agent or a swarm declares for the failures in it."""

    classify_error: ClassifyError | None = None
    retry_policy: GetRetryPolicy | None = None


_around: ContextVar[tuple[Author, ...]] = ContextVar("orbiter_authors", default=())


def asked_of(classify_error: ClassifyError | None, retry_policy: GetRetryPolicy | None) -> AbstractContextManager[None]:
    """For what runs inside, an author that is asked after those further in, and before those around. Never in a
    generator's body: a generator shares its caller's context.

    Args:
        classify_error: Its judgement of failures; None: it has none.
        retry_policy: Its retry settings; None: it has none.

    Returns:
        A context manager.
    """
    if classify_error is None and retry_policy is None:
        return _UNCHANGED
    return _asked_first(Author(classify_error, retry_policy))


_UNCHANGED: AbstractContextManager[None] = nullcontext()


@contextmanager
def _asked_first(author: Author) -> Iterator[None]:
    token = _around.set((author, *_around.get()))
    try:
        yield
    finally:
        _around.reset(token)


def with_authors(traits: Traits) -> Traits:
    """A step's traits, with the authors around it asked where its own says nothing.

    Args:
        traits: The step's own.

    Returns:
        The traits to use.
    """
    around = _around.get()
    if not around:
        return traits
    own = Author(traits.classify_error, traits.retry_policy)
    policies = [author.retry_policy for author in (own, *around) if author.retry_policy is not None]
    others = [author for author in around if author.classify_error != own.classify_error]
    return replace(traits, classify_around=_in_turn(*others), retry_policy=policies[0] if policies else None)


def author_around() -> ClassifyError | None:
    """Who judges a failure outside of any step: the authors around, in turn.

    Returns:
        The authors as one function; None where there are none.
    """
    return _in_turn(*_around.get())


def _in_turn(*authors: Author) -> ClassifyError | None:
    found = list(dict.fromkeys(each.classify_error for each in authors if each.classify_error is not None))
    if len(found) < 2:
        return found[0] if found else None
    return partial(_first_verdict, found)


def _first_verdict(classifiers: list[ClassifyError], exc: Exception, context: dict[str, Any]) -> Any:
    """What the first says that says anything."""
    for classify_error in classifiers:
        if (said := classify_error(exc, context)) is not None:
            return said
    return None
