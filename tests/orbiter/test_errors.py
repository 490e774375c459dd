"""One tree of errors: the classes of both seeds, their fields, and copies that lose nothing."""

from __future__ import annotations

import builtins
import copy
import json
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from orbiter import errors
from orbiter.errors import (
    ActionValidationError,
    AgentConfigurationError,
    AgentError,
    AgentExecutionError,
    AgentFrameworkError,
    AgentPermissionError,
    APIError,
    CallRunnerError,
    ConfigurationError,
    ExecutionError,
    MarsysError,
    MessageFormatError,
    ModelAPIError,
    ModelError,
    ModelRateLimitError,
    ModelTimeoutError,
    OrbiterError,
    OutputParseError,
    RateLimitError,
    RegistryError,
    SwarmError,
    ToolCallError,
    ToolError,
    ToolExecutionError,
    TopologyError,
    ValidationError,
)

CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, OrbiterError)]


@pytest.mark.parametrize(
    ("child", "parent"),
    [
        (AgentError, OrbiterError),
        (ToolError, OrbiterError),
        (CallRunnerError, OrbiterError),
        (SwarmError, OrbiterError),
        (RegistryError, OrbiterError),
        (OutputParseError, OrbiterError),
        (ModelError, OrbiterError),
        (ToolExecutionError, ToolError),
        (ToolCallError, ToolError),
        (MessageFormatError, ValidationError),
        (ActionValidationError, ValidationError),
        (AgentConfigurationError, ConfigurationError),
        (TopologyError, ConfigurationError),
        (AgentExecutionError, ExecutionError),
        (errors.TimeoutError, ExecutionError),
        (errors.TimeoutError, builtins.TimeoutError),
        (errors.PermissionError, builtins.PermissionError),
        (AgentPermissionError, errors.PermissionError),
        (RateLimitError, APIError),
        (ModelAPIError, ModelError),
        (ModelAPIError, APIError),
        (ModelRateLimitError, RateLimitError),
        (ModelRateLimitError, ModelError),
        (ModelTimeoutError, errors.TimeoutError),
    ],
)
def test_the_families_of_both_seeds(child: type[Exception], parent: type[Exception]) -> None:
    assert issubclass(child, parent)


def test_the_documented_names_of_the_base() -> None:
    assert MarsysError is AgentFrameworkError is OrbiterError


def test_the_fields_of_seed_003() -> None:
    before = datetime.now(UTC)
    error = MessageFormatError(
        "Invalid JSON in model response",
        context={"response": "{", "expected": "JSON object with 'next_action' field"},
        suggestion="Ensure model is prompted to return valid JSON",
        recoverable=True,
    )
    assert str(error) == error.message == "Invalid JSON in model response"
    assert error.error_code == "MessageFormatError"
    assert error.recoverable
    assert before <= error.timestamp <= datetime.now(UTC)
    assert error.to_dict() == {
        "error_type": "MessageFormatError",
        "error_code": "MessageFormatError",
        "message": "Invalid JSON in model response",
        "context": {"response": "{", "expected": "JSON object with 'next_action' field"},
        "suggestion": "Ensure model is prompted to return valid JSON",
        "recoverable": True,
        "timestamp": error.timestamp.isoformat(),
    }
    assert json.loads(json.dumps(error.to_dict())) == error.to_dict()


def test_defaults() -> None:
    error = OrbiterError("m")
    assert (error.context, error.suggestion, error.recoverable) == ({}, None, False)
    assert OrbiterError("m", "CODE").error_code == "CODE"
    assert RateLimitError("m").recoverable
    assert not RateLimitError("m", recoverable=False).recoverable


def test_a_hint_is_a_suggestion_and_leaves_the_text_alone() -> None:
    error = AgentError("what", hint="do this")
    assert (str(error), error.hint, error.suggestion) == ("what", "do this", "do this")
    error.hint = "or that"
    assert error.to_dict()["suggestion"] == "or that"


def test_own_fields_stand_in_the_context_too_and_others_are_refused() -> None:
    error = AgentPermissionError("denied", target_agent="b", allowed_agents=["c"])
    assert (error.target_agent, error.allowed_agents) == ("b", ["c"])
    assert error.context == {"target_agent": "b", "allowed_agents": ["c"]}
    with pytest.raises(TypeError, match="AgentPermissionError has no field 'tool'; its own fields: agent_name,"):
        AgentPermissionError("denied", tool="x")


def test_a_tool_execution_error_as_in_seed_000() -> None:
    error = ToolExecutionError("search", ValueError("no net"))
    assert str(error) == "Tool 'search' failed: no net"
    assert (error.tool_name, error.execution_error) == ("search", "no net")
    assert str(ToolExecutionError("plain text")) == "plain text"


def test_a_model_error_carries_what_the_provider_said() -> None:
    error = ModelError(
        "Overloaded",
        model="claude",
        code="overloaded_error",
        provider="anthropic",
        status=529,
        type="overloaded",
        headers={"retry-after": "3"},
        request_id="req_1",
        body="{}",
        retry_after=3.0,
        where="stream",
    )
    assert str(error) == "[claude] Overloaded"
    assert error.message == "Overloaded"
    assert str(ModelError("Overloaded")) == "Overloaded"
    assert (error.model, error.code, error.status, error.where) == ("claude", "overloaded_error", 529, "stream")
    assert error.context["status_code"] == 529
    assert error.context["retry_after"] == 3.0
    assert (ModelError("x").status, ModelError("x").retry_after, ModelError("x").code) == (None, None, "")


def test_a_model_error_under_the_names_of_seed_003() -> None:
    error = ModelAPIError(
        "too large", status_code=413, api_error_code="request_too_large", classification="request_too_large"
    )
    assert (error.status, error.status_code, error.code, error.api_error_code) == (
        413,
        413,
        "request_too_large",
        "request_too_large",
    )
    assert error.classification == "request_too_large"
    assert ModelRateLimitError("slow").recoverable
    assert ModelRateLimitError("slow").classification == "rate_limit"


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_class_can_be_copied_and_pickled_and_catches_as_the_base(kind: type[OrbiterError]) -> None:
    error = kind("what", context={"a": [1]}, suggestion="do", error_code="C", recoverable=True)
    error.add_note("noted")
    copies: list[Any] = [copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))]
    for made in copies:
        assert type(made) is kind
        assert str(made) == "what"
        assert vars(made) == vars(error)
    with pytest.raises(OrbiterError):
        raise error


def test_fields_survive_a_pickle() -> None:
    error = ModelRateLimitError("slow", model="m", status_code=429, retry_after=2.5, code="rate")
    made = pickle.loads(pickle.dumps(error))
    assert (str(made), made.status, made.retry_after, made.code, made.model) == ("[m] slow", 429, 2.5, "rate", "m")
    tool = pickle.loads(pickle.dumps(ToolExecutionError("t", ValueError("v"))))
    assert (str(tool), tool.tool_name) == ("Tool 't' failed: v", "t")


def test_a_field_that_is_given_in_the_context_is_an_attribute_as_well() -> None:
    error = RateLimitError("slow", context={"retry_after": 60, "limit": "10000 tokens/min"})
    assert (error.retry_after, error.status_code) == (60, None)
    assert RateLimitError("slow", retry_after=5, context={"retry_after": 60}).retry_after == 5


def test_a_context_that_is_not_a_mapping_is_refused_with_an_example() -> None:
    wrong: Any = "Permission denied"
    with pytest.raises(TypeError, match="PermissionError: context must be a mapping of facts, for example"):
        errors.PermissionError(13, wrong, wrong)
