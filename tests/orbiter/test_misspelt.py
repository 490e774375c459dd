"""A misspelt option or field of what a user declares: the error names it and the nearest that exists."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pydantic
import pytest
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.test import TestModel

from orbiter import (
    Agent,
    ErrorHandlingConfig,
    FailurePolicy,
    FunctionTool,
    HumanInputTool,
    JoinPolicy,
    ParallelGroup,
    SerialGroup,
    Swarm,
    SwarmNode,
    tool,
)
from orbiter.config import AgentConfig, ModelConfig, RunConfig, TaskConfig
from orbiter.errors import ConfigurationError
from orbiter.guests import guest
from orbiter.policy import ProviderErrorSettings

CLERK = Agent(name="clerk")


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


class Clerk(Agent[Any]):
    """An agent whose subclass passes on what it is given."""

    def __init__(self, **given: Any) -> None:
        super().__init__(name="clerk", **given)


@pytest.mark.parametrize(
    ("make", "wrong", "right"),
    [
        (lambda **wrong: Agent(name="a", **wrong), "instruction", "instructions"),
        (lambda **wrong: Agent(name="a", **wrong), "maxsteps", "max_steps"),
        (lambda **wrong: Agent(name="a", **wrong), "Tools", "tools"),
        (Clerk, "hand_offs", "handoffs"),
        (lambda **wrong: Swarm(agents=[CLERK], **wrong), "mod", "mode"),
        (lambda **wrong: Swarm(agents=[CLERK], **wrong), "budgets", "budget"),
        (lambda **wrong: ParallelGroup(name="g", agents=[CLERK], **wrong), "seperator", "separator"),
        (lambda **wrong: SerialGroup(name="g", **wrong), "agent", "agents"),
        (lambda **wrong: SwarmNode(swarm=Swarm(agents=[CLERK]), **wrong), "nam", "name"),
        (FailurePolicy, "tools", "tool"),
        (JoinPolicy, "qourum", "quorum"),
        (HumanInputTool, "time_out", "timeout"),
        (lambda **wrong: FunctionTool(add, **wrong), "idempotant", "idempotent"),
        (lambda **wrong: tool(**wrong)(add), "permission", "permissions"),
        (lambda **wrong: guest(PydanticAgent(TestModel()), name="g", **wrong), "dep", "deps"),
    ],
)
def test_a_misspelt_keyword_is_refused_with_the_nearest(make: Callable[..., Any], wrong: str, right: str) -> None:
    with pytest.raises(TypeError) as caught:
        make(**{wrong: None})
    assert f"got an unexpected keyword argument '{wrong}'. Did you mean '{right}'?" in str(caught.value)


def test_a_keyword_that_is_near_to_none_is_refused_with_all_that_there_are() -> None:
    with pytest.raises(TypeError, match=r"'zzz'. It takes model, tool, agent\."):
        FailurePolicy(zzz="fail")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"guest\(\) got .*'zzz'. It takes name, deps, models, run_options\."):
        guest(PydanticAgent(TestModel()), name="g", zzz=1)


@pytest.mark.parametrize(
    ("make", "wrong", "says"),
    [
        (ErrorHandlingConfig, {"foo": 1}, "unknown field 'foo': valid are: "),
        (ErrorHandlingConfig, {"max_attempt": 1}, "unknown field 'max_attempt': did you mean 'max_attempts'?"),
        (
            ErrorHandlingConfig,
            {"provider_settings": {"openai": {"max_retrys": 1}}},
            "unknown field 'max_retrys': did you mean 'max_retries'? For example ProviderErrorSettings(max_retries=2)",
        ),
        (ErrorHandlingConfig, {"max_attempts": 0}, "should be greater than or equal to 1"),
        (ProviderErrorSettings, {"max_retrys": 1}, "did you mean 'max_retries'?"),
    ],
)
def test_an_error_configuration_says_the_same_however_it_is_given(
    make: Callable[..., Any], wrong: dict[str, Any], says: str
) -> None:
    with pytest.raises(pydantic.ValidationError) as made:
        make(**wrong)
    assert says in str(made.value)
    if make is ErrorHandlingConfig:
        with pytest.raises(ConfigurationError) as declared:
            Swarm(agents=[CLERK], errors=wrong)
        assert says in str(declared.value)
        assert isinstance(declared.value, ValueError), "one `except ValueError` catches both"
        assert "validation error" not in str(declared.value)


def test_an_unknown_field_is_named_with_its_place_and_an_example() -> None:
    with pytest.raises(pydantic.ValidationError) as made:
        ErrorHandlingConfig(max_attempt=1, base_dealy=2)  # type: ignore[call-arg]
    assert [error["loc"] for error in made.value.errors()] == [("max_attempt",), ("base_dealy",)]
    assert "For example ErrorHandlingConfig(max_attempts=2)" in str(made.value)
    with pytest.raises(ConfigurationError, match=r"used: provider_settings\.openai: unknown field 'max_retrys'"):
        Swarm(agents=[CLERK], errors={"provider_settings": {"openai": {"max_retrys": 1}}})


@pytest.mark.parametrize(
    ("make", "near"),
    [
        (lambda: Swarm(agents=[CLERK], budget={"max_tokn": 1}), "max_total_tokens"),
        (lambda: Swarm(agents=[CLERK], failure={"tols": "fail"}), "tool"),
        (lambda: Swarm(agents=[CLERK], failure="fial"), "fail"),  # type: ignore[arg-type]
        (lambda: Swarm(agents=[CLERK], join="all_require"), "all_required"),
        (lambda: Swarm(agents=[CLERK], join={"kin": "quorum"}), "kind"),
    ],
)
def test_a_misspelt_word_of_a_policy_is_refused_with_the_nearest(make: Callable[[], object], near: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()
    assert f"Did you mean '{near}'?" in str(caught.value.hint)
    shown = "".join(traceback.format_exception_only(caught.value))
    assert shown.count(f"Did you mean '{near}'?") == 1, "a plain traceback names it, once"
    assert "Did you mean" not in caught.value.message


def test_the_text_of_a_configuration_error_names_what_was_meant_once() -> None:
    error = ConfigurationError("Unknown word 'a'", hint="Did you mean 'b'?")
    assert str(error) == str(pickle.loads(pickle.dumps(error))) == "Unknown word 'a'. Did you mean 'b'?"
    said = ConfigurationError("Unknown word 'a'. Did you mean 'b'?", hint="Did you mean 'b'?")
    assert str(said) == said.message
    assert str(ConfigurationError("Too large", hint="Give at most 3")) == "Too large", "other advice stays a suggestion"


@pytest.mark.parametrize(
    ("kind", "given", "wrong", "right"),
    [
        (AgentConfig, {"name": "a"}, "instruction", "instructions"),
        (ModelConfig, {}, "time_out", "timeout"),
        (RunConfig, {}, "maxsteps", "max_steps"),
        (TaskConfig, {"name": "t"}, "describtion", "description"),
    ],
)
def test_a_config_model_refuses_an_unknown_field(
    kind: type[pydantic.BaseModel], given: dict[str, Any], wrong: str, right: str
) -> None:
    makes: tuple[Callable[[dict[str, Any]], object], ...] = (lambda fields: kind(**fields), kind.model_validate)
    for make in makes:
        with pytest.raises(pydantic.ValidationError) as caught:
            make({**given, wrong: 1})
        assert f"unknown field '{wrong}': did you mean '{right}'? For example {kind.__name__}(" in str(caught.value)
        assert [error["loc"] for error in caught.value.errors()] == [(wrong,)]


def test_a_subclass_of_a_config_model_has_its_own_fields_aliases_and_extras() -> None:
    class Clerk(AgentConfig):
        desk: int = pydantic.Field(default=0, alias="deskNumber")

    class Open(RunConfig, extra="allow"):
        pass

    assert Clerk.model_validate({"name": "a", "deskNumber": 3}).desk == 3
    with pytest.raises(pydantic.ValidationError, match="unknown field 'dekc': did you mean 'desk'"):
        Clerk.model_validate({"name": "a", "dekc": 3})
    assert Open.model_validate({"region": "eu"}).model_extra == {"region": "eu"}
