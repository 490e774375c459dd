"""Errors that are of two classes: what `run()` raises is a `CallRunnerError` and of its cause's class too."""

from __future__ import annotations

import copy
import json
import pickle
import traceback
from typing import Self

import pytest
from pydantic import TypeAdapter

from orbiter._internal.error_causes import join_with_cause, unwrap_single_group
from orbiter.errors import (
    AgentError,
    CallRunnerError,
    LoopDetectedError,
    ModelError,
    OrbiterError,
    RateLimitError,
    SwarmError,
)
from orbiter.errors import TimeoutError as OrbiterTimeoutError


class Demanding(Exception):
    """Needs two arguments, and computes its text."""

    def __init__(self, left: int, right: int) -> None:
        super().__init__(left, right)
        self.left = left

    def __str__(self) -> str:
        return f"{self.args[0]} and {self.args[1]}"


class DemandingNew(Exception):
    """Cannot be made without two arguments."""

    def __new__(cls, left: int, right: int) -> Self:
        return super().__new__(cls, left, right)

    def __init__(self, left: int, right: int) -> None:
        super().__init__(left, right)


def _caught(call: object, *args: object) -> Exception:
    try:
        call(*args)  # type: ignore[operator]
    except Exception as exc:
        return exc
    raise AssertionError("nothing was raised")


JOINABLE = [
    AgentError("a"),
    RateLimitError("r", suggestion="wait", context={"retry_after": 3}),
    ModelError("m", model="q", status=401),
    OrbiterTimeoutError("t", timeout_seconds=3.0),
    Demanding(1, 2),
    KeyError("k"),
    OSError(2, "no such", "f"),
    ConnectionResetError(104, "reset"),
    SyntaxError("bad", ("f", 1, 1, "x")),
    _caught(b"\xff".decode),
    _caught(json.loads, "{"),
]


@pytest.mark.parametrize("cause", JOINABLE, ids=lambda cause: type(cause).__name__)
def test_it_is_of_both_classes_with_the_wrappers_text(cause: Exception) -> None:
    error = join_with_cause(CallRunnerError, "Call runner failed for agent 'a': x", cause)
    assert isinstance(error, CallRunnerError)
    assert isinstance(error, type(cause))
    assert str(error) == "Call runner failed for agent 'a': x"
    assert repr(error) == "CallRunnerError(\"Call runner failed for agent 'a': x\")"
    assert error.error_code == "CallRunnerError"
    assert error.__cause__ is cause
    for made in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(made), str(made)) == (type(error), str(error))


@pytest.mark.parametrize(
    "cause",
    [
        StopIteration(1),
        StopAsyncIteration(),
        ExceptionGroup("g", [ValueError("a"), ValueError("b")]),
        DemandingNew(1, 2),
        _caught(TypeAdapter(int).validate_python, "x"),
    ],
    ids=lambda cause: type(cause).__name__,
)
def test_where_python_does_not_allow_it_the_wrapper_is_plain_and_chained(cause: Exception) -> None:
    error = join_with_cause(CallRunnerError, "text", cause)
    assert type(error) is CallRunnerError
    assert error.__cause__ is cause


def test_the_causes_facts_can_be_read() -> None:
    model = join_with_cause(
        CallRunnerError, "t", ModelError("m", model="q", status=401, code="auth", hint="set the key")
    )
    assert isinstance(model, ModelError)
    assert (model.status, model.code, model.model, model.hint) == (401, "auth", "q", "set the key")
    rate = join_with_cause(CallRunnerError, "t", RateLimitError("r", context={"retry_after": 3}))
    assert rate.recoverable
    assert rate.context == {"retry_after": 3}
    system = join_with_cause(CallRunnerError, "t", ConnectionResetError(104, "reset"))
    assert isinstance(system, OSError)
    assert (system.errno, system.strerror) == (104, "reset")
    own = join_with_cause(CallRunnerError, "t", Demanding(7, 8))
    assert isinstance(own, Demanding)
    assert own.left == 7


def test_a_cause_that_is_a_wrapper_already_keeps_its_class() -> None:
    error = join_with_cause(CallRunnerError, "t", LoopDetectedError("l", count=3, threshold=3))
    assert isinstance(error, LoopDetectedError)
    assert error.count == 3
    assert type(join_with_cause(CallRunnerError, "t", OrbiterError("o"))) is CallRunnerError


def test_a_join_of_a_join_is_of_all_classes() -> None:
    inner = join_with_cause(CallRunnerError, "inner", AgentError("a"))
    outer = join_with_cause(SwarmError, "outer", inner)
    assert isinstance(outer, (SwarmError, AgentError))
    assert isinstance(outer, CallRunnerError)
    assert isinstance(outer, AgentError)
    assert str(pickle.loads(pickle.dumps(outer))) == "outer"


def test_classes_are_made_once() -> None:
    one, other = (join_with_cause(CallRunnerError, text, AgentError(text)) for text in "ab")
    assert type(one) is type(other)


def test_the_sample_of_seed_000_catches_it() -> None:
    try:
        raise join_with_cause(CallRunnerError, "Call runner failed for agent 'a': boom", AgentError("boom"))
    except AgentError as caught:
        text = "".join(traceback.format_exception(caught))
    assert "orbiter.errors.AgentError: boom" in text
    assert "direct cause" in text
    assert "CallRunnerError: Call runner failed for agent 'a': boom" in text


def test_a_group_of_one_is_what_it_holds() -> None:
    only = ValueError("v")
    assert unwrap_single_group(ExceptionGroup("g", [ExceptionGroup("h", [only])])) is only
    pair = ExceptionGroup("g", [only, only])
    assert unwrap_single_group(pair) is pair
    assert unwrap_single_group(only) is only
