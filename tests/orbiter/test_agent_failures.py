"""A plain run that fails: which calls are tried again, what is raised, what policies make of it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

import orbiter.agent
import orbiter.runner
from orbiter import Agent, FailurePolicy, run, tool
from orbiter._internal.call_runner import CallRunnerError
from orbiter.agent import AgentError
from orbiter.errors import ToolError
from orbiter.models.types import ModelError
from tests.orbiter.engine_fakes import Script, add, calls, text


class Pair(BaseModel):
    a: int
    b: int


# --- failures and retries ---------------------------------------------------------------------------------------------


async def test_a_model_is_tried_again_after_1_2_4_seconds(waits: list[float]) -> None:
    provider = Script(*[ConnectionError("down")] * 3, text("up"))
    output = await Agent(name="a").run("x", provider=provider, max_retries=4)
    assert output.text == "up"
    assert waits == [1.0, 2.0, 4.0]


async def test_attempts_spent(waits: list[float]) -> None:
    provider = Script(*[ConnectionError("down")] * 3)
    with pytest.raises(AgentError, match=r"^Agent 'a' failed after 3 retries: down$") as caught:
        await Agent(name="a").run("x", provider=provider)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert waits == [1.0, 2.0]


@pytest.mark.parametrize(
    "error",
    [
        ModelError("bad key", code="invalid_api_key", status=401),
        ModelError("may not", status=403),
        ModelError("Invalid API key"),
    ],
)
async def test_authentication_fails_at_once(waits: list[float], error: Exception) -> None:
    # 3.2.7: all retries were burnt.
    provider = Script(error, text("never"))
    with pytest.raises(AgentError, match="failed after 1 retries"):
        await Agent(name="a").run("x", provider=provider)
    assert waits == []
    assert len(provider.seen) == 1


@pytest.mark.parametrize("error", [ModelError("too long", code="context_length"), ValueError("context length is 8")])
async def test_context_length_fails_at_once(waits: list[float], error: Exception) -> None:
    with pytest.raises(AgentError, match=r"^Context length exceeded on agent 'a': ") as caught:
        await Agent(name="a").run("x", provider=Script(error))
    assert caught.value.__cause__ is error
    assert waits == []


async def test_max_retries_of_0_is_one_try(waits: list[float]) -> None:
    # 3.2.7: failed with "after 0 retries: None".
    assert (await Agent(name="a").run("x", provider=Script(text("hi")), max_retries=0)).text == "hi"
    with pytest.raises(AgentError, match="failed after 1 retries: no"):
        await Agent(name="a").run("x", provider=Script(ValueError("no")), max_retries=0)


async def test_a_tool_error_with_the_words_context_length_is_no_fatal_one() -> None:
    # 3.2.14
    @tool
    def fails() -> str:
        raise ValueError("the context length of the form is wrong")

    provider = Script(calls(("fails", {})), text("done"))
    assert (await Agent(name="a", tools=[fails]).run("x", provider=provider)).text == "done"


async def test_the_seeds_sample_catches_agent_error_from_run(waits: list[float]) -> None:
    # D7, D12: always CallRunnerError, AgentError only in __cause__.
    down = ConnectionError("down")
    with pytest.raises(AgentError) as caught:
        await run(Agent(name="a"), "x", provider=Script(*[down] * 3))
    error = caught.value
    assert isinstance(error, CallRunnerError)
    assert type(error).__name__ == "CallRunnerError"
    assert str(error) == "Call runner failed for agent 'a': Agent 'a' failed after 3 retries: down"
    assert isinstance(error.__cause__, AgentError)
    assert error.__cause__.__cause__ is down


async def test_without_a_provider() -> None:
    with pytest.raises(AgentError, match=r"^Agent 'a' requires a provider for run\(\)$"):
        await Agent(name="a").run("x")


async def test_a_missing_key_is_said_by_the_name_of_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(AgentError, match=r"Agent 'a' requires a provider for run\(\): .*ANTHROPIC_API_KEY"):
        await run(Agent(name="a", model="anthropic:claude-x"), "x")


async def test_an_unknown_provider_is_said_at_run() -> None:
    with pytest.raises(AgentError, match=r"Provider 'nobody' not registered. Available: ") as caught:
        await run(Agent(name="a", model="nobody:x"), "x")
    assert isinstance(caught.value, CallRunnerError)
    assert orbiter.runner._resolve_provider(Agent(name="a", model="nobody:x")) is None


async def test_the_resolver_is_looked_up_at_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def resolve(agent: Any) -> Any:
        asked.append(agent.model)
        return Script(text("hi"))

    monkeypatch.setattr(orbiter.runner, "_resolve_provider", resolve)
    assert (await run(Agent(name="a", model="cheap:one"), "x")).output == "hi"
    assert asked == ["cheap:one"]


# --- policies ---------------------------------------------------------------------------------------------------------


async def test_a_tool_that_must_not_fail_fails_the_run() -> None:
    @tool(failure="fail")
    def pay(amount: int) -> str:
        raise ValueError("declined")

    agent = Agent(name="a", tools=[pay])
    with pytest.raises(ToolError, match=r"Call runner failed for agent 'a': Tool 'pay' failed: declined"):
        await run(agent, "x", provider=Script(calls(("pay", {"amount": 1}))))
    # Arguments that do not fit are the model's mistake, not the tool's failure.
    provider = Script(calls(("pay", {})), text("sorry"))
    assert (await run(agent, "x", provider=provider)).output == "sorry"


async def test_policies_of_an_agent() -> None:
    @tool
    def fails() -> str:
        raise ValueError("broken")

    degraded = Agent(name="a", tools=[fails], failure=FailurePolicy(tool="degrade"))
    result = await run(degraded, "x", provider=Script(calls(("fails", {})), text("done")))
    assert (result.output, result.state) == ("done", "degraded")
    assert "broken" in str(result.error)
    strict = Agent(name="a", tools=[fails], failure={"tool": "fail"})
    with pytest.raises(ToolError, match="broken"):
        await run(strict, "x", provider=Script(calls(("fails", {}))))


async def test_a_model_that_fails_under_degrade_leaves_what_was_said(waits: list[float]) -> None:
    first = calls(("add", {"a": 1, "b": 1})).model_copy(update={"content": "so far"})
    agent = Agent(name="a", tools=[add], failure={"model": "degrade"})
    result = await run(agent, "x", provider=Script(first, *[ValueError("down")] * 3))
    assert (result.output, result.state) == ("so far", "degraded")
    assert "failed after 3 retries: down" in str(result.error)


async def test_fallback_models_stand_in(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> None:
    others = {"two:x": Script(ValueError("also down")), "three:x": Script(text("third"))}
    monkeypatch.setattr(orbiter.runner, "_resolve_provider", lambda agent: others.get(agent.model))
    agent = Agent(name="a", model="one:x", fallbacks=["none:x", "two:x", "three:x"])
    result = await run(agent, "x", provider=Script(ValueError("down")), max_retries=1)
    assert result.output == "third"
    assert any("three:x" in warning for warning in result.warnings)
    others["three:x"].replies = [ValueError("down as well")]
    others["two:x"].replies = [ValueError("also down")]
    with pytest.raises(AgentError, match="Agent 'a' failed after 1 retries: down") as caught:
        await run(agent, "x", provider=Script(ValueError("down")), max_retries=1)
    assert caught.value.__cause__ is not None
    notes = "\n".join(caught.value.__cause__.__notes__)
    assert "'none:x' cannot be asked" in notes
    assert "'two:x' failed too: also down" in notes


async def test_a_fallback_gets_the_output_type_only_if_its_provider_takes_it(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    class Structured(Script):
        structured = True

        async def complete(self, messages: Any, *, output_type: Any = None, **kwargs: Any) -> Any:
            assert output_type is Pair
            return await super().complete(messages, **kwargs)

    agent = Agent(name="a", model="one:x", fallbacks=["two:x"], output_type=Pair)
    other: list[Script] = []
    monkeypatch.setattr(orbiter.runner, "_resolve_provider", lambda _: other.pop())
    for first, second in ((Structured, Script), (Script, Structured)):
        other.append(second(text('{"a": 1, "b": 2}')))
        result = await run(agent, "x", provider=first(ValueError("down")), max_retries=1)
        assert result.parsed == Pair(a=1, b=2)


async def test_plain_run_says_once_what_it_does_not_honour(caplog: pytest.LogCaptureFixture) -> None:
    @tool(permissions=("fs.write",), timeout=1.0)
    def touches() -> str:
        return "touched"

    def policy() -> dict[str, Any]:
        return {"max_attempts": 2}

    agent = Agent(name="warned", tools=[touches], get_retry_policy=policy)
    for _ in range(2):
        await run(agent, "x", provider=Script(calls(("touches", {})), text("done")))
        with pytest.raises(AgentError):
            await run(agent, "x", provider=Script(ValueError("down")), max_retries=1)
    said = [record.getMessage() for record in caplog.records if "only a runtime" in record.getMessage()]
    assert len(said) == 2
    assert "Tool 'touches' declares permissions" in said[0]
    assert "Agent 'warned' declares classify_error or get_retry_policy" in said[1]
