"""The one walker of exception chains, on chains of every shape: Python's own traceback is what it is compared with."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter._internal.groups.partial_results import attach_partial_result, partial_result_of
from orbiter.errors import MAX_CAUSES, cause_of, causes
from orbiter.types import RunResult


@st.composite
def tangles(draw: st.DrawFn) -> list[BaseException]:
    """Exceptions that come from one another in any way, in circles too; some are groups."""
    count = draw(st.integers(1, 8))
    plain: list[BaseException] = [RuntimeError(str(number)) for number in range(count)]
    found = list(plain)
    for number in range(draw(st.integers(0, 3))):
        members = draw(st.lists(st.sampled_from(found), min_size=1, max_size=4))
        found.append(BaseExceptionGroup(f"group {number}", members))
    for link in found:
        other = st.one_of(st.none(), st.sampled_from(found))
        link.__context__ = draw(other)
        if draw(st.booleans()):
            link.__cause__ = draw(other)  # sets `__suppress_context__`, as `raise … from` does
    return found


def in_traceback(shown: traceback.TracebackException | None) -> Iterator[str]:
    if shown is None:
        return
    yield str(shown)
    for each in (shown.__cause__, shown.__context__, *(shown.exceptions or ())):
        yield from in_traceback(each)


@given(tangles())
def test_it_returns_what_the_traceback_shows_each_once(found: list[BaseException]) -> None:
    for start in found:
        links = list(causes(start))
        assert links[0] is start
        assert len({id(link) for link in links}) == len(links)
        shown = traceback.TracebackException.from_exception(start, compact=True)
        assert {str(link) for link in links} == set(in_traceback(shown))


@given(tangles())
def test_each_link_comes_from_one_before_it(found: list[BaseException]) -> None:
    for start in found:
        links = list(causes(start))
        for at, link in enumerate(links[1:], 1):
            before = links[:at]
            members = [member for each in before if isinstance(each, BaseExceptionGroup) for member in each.exceptions]
            assert any(link is other for other in (*members, *map(cause_of, before)))


@given(st.lists(st.sampled_from(["from", "while", "from None"]), max_size=12))
def test_from_none_is_where_a_chain_ends(steps: list[str]) -> None:
    error: Exception = KeyError("root")
    expected = [error]
    for step in steps:
        try:
            try:
                raise error
            except Exception as caught:
                if step == "from":
                    raise ValueError(step) from caught
                if step == "while":
                    raise ValueError(step)  # noqa: B904 - what is tested
                raise ValueError(step) from None
        except ValueError as outer:
            error = outer
        expected = [error] if step == "from None" else [error, *expected]
    links = list(causes(error))
    assert links == expected
    assert [cause_of(link) for link in links] == [*links[1:], None]


def test_a_group_stands_before_its_members_and_they_before_its_cause() -> None:
    inner, first, second, cause = KeyError("inner"), ValueError("first"), ValueError("second"), OSError("cause")
    first.__cause__ = inner
    group = ExceptionGroup("group", [first, second])
    group.__cause__ = cause
    assert list(causes(group)) == [group, first, inner, second, cause]


def test_a_chain_without_end_ends() -> None:
    links = [ValueError(str(number)) for number in range(MAX_CAUSES * 3)]
    for link, inner in pairwise(links):
        link.__cause__ = inner
    assert list(causes(links[0])) == links[:MAX_CAUSES]
    deep: Exception = ValueError("core")
    for _ in range(MAX_CAUSES * 3):
        deep = ExceptionGroup("layer", [deep])
    assert len(list(causes(deep))) == MAX_CAUSES


class Misleading(ExceptionGroup[Exception]):
    def __len__(self) -> int:
        return 0

    @property
    def exceptions(self) -> tuple[Exception, ...]:
        raise RuntimeError("not to be read")


@pytest.mark.parametrize("linked", ["cause", "context"])
def test_a_class_that_misleads_is_walked_like_any_other(linked: str) -> None:
    member = ValueError("member")
    group, outer = Misleading("group", [member]), RuntimeError("outer")
    setattr(outer, f"__{linked}__", group)
    assert list(causes(outer)) == [outer, group, member]


@pytest.mark.parametrize("linked", ["cause", "context", "group", "circle"])
def test_a_partial_result_is_found_wherever_it_came_from(linked: str) -> None:
    failed = ValueError("failed")
    attach_partial_result(failed, RunResult(output="so far", agent="team", steps=1))
    outer: Exception = ExceptionGroup("outer", [OSError("other"), failed]) if linked == "group" else OSError("outer")
    if linked in {"cause", "circle"}:
        outer.__cause__ = failed
    if linked == "context":
        outer.__context__ = failed
    if linked == "circle":
        failed.__cause__ = outer
    found = partial_result_of(outer, "team")
    assert found is not None
    assert (found.output, found.state) == ("so far", "degraded")
    assert partial_result_of(outer, "another") is None
