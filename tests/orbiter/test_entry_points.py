"""run.sync, serialisation, and asking a person."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from orbiter import Agent, FunctionTool, Swarm, Tool, run, steps, tool
from orbiter._internal.declarations.serialization import SerialisationError
from orbiter.agent import AgentError
from orbiter.errors import OrbiterError, ToolError
from orbiter.hooks import HookPoint
from orbiter.human import ConsoleHandler, HumanInputHandler, HumanInputTool
from orbiter.runner import NestedLoopError
from tests.orbiter.engine_fakes import ByAgent, Journal, Recording, Script, calls, text


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Answer(BaseModel):
    n: int


# --- run.sync ---------------------------------------------------------------------------------------------------------


def test_sync_runs_in_a_loop_of_its_own() -> None:
    assert run.sync(Agent(name="a"), "q", provider=Script(text("hi"))).output == "hi"


async def test_sync_in_the_loops_own_thread_is_refused() -> None:
    with pytest.raises(NestedLoopError, match=r"run.sync\(\) cannot be called from a running event loop") as caught:
        run.sync(Agent(name="a"), "q", provider=Script(text("hi")))
    assert isinstance(caught.value, RuntimeError)
    assert "await run" in str(caught.value.hint)


async def test_sync_inside_a_tool_hands_over_to_the_running_loop() -> None:
    here = asyncio.get_running_loop()
    loops: list[Any] = []

    class Provider:
        async def complete(self, messages: Any, **kwargs: Any) -> Any:
            loops.append(asyncio.get_running_loop())
            return text("inside")

    @tool
    def ask(question: str) -> str:
        return run.sync(Agent(name="inner"), question, provider=Provider()).output

    provider = Script(calls(("ask", {"question": "?"})), text("done"))
    result = await run(Agent(name="a", tools=[ask]), "q", provider=provider)
    assert str(result.messages[2].content) == "inside"
    assert loops == [here]


async def test_sync_inside_a_tool_is_a_child_node_of_the_run() -> None:
    @tool
    def ask(question: str) -> str:
        inner = Agent(name="inner", instructions="inner")
        return run.sync(inner, question, provider=ByAgent(inner=[text("inside")])).output

    journal = Journal()
    outer = Agent(name="a", instructions="a", tools=[ask])
    with steps.entered(Recording(journal)):
        await run(outer, "q", provider=ByAgent(a=[calls(("ask", {"question": "?"})), text("done")]))
    assert "/agent:a~0/agent:inner~0/llm:llm~0" in journal.records


async def test_a_run_that_was_handed_over_is_withdrawn_with_its_tool() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    class Slow:
        async def complete(self, messages: Any, **kwargs: Any) -> Any:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

    @tool
    def ask(question: str) -> str:
        return run.sync(Agent(name="inner"), question, provider=Slow()).output

    outer = Agent(name="a", tools=[ask])
    task = asyncio.create_task(run(outer, "q", provider=Script(calls(("ask", {"question": "?"})))))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(60):
        await ended.wait()


async def test_more_tools_that_run_agents_than_there_are_threads() -> None:
    @tool
    def ask(n: int) -> str:
        @tool
        def deeper() -> str:
            return f"deep {n}"

        inner = Agent(name="inner", tools=[deeper])
        return run.sync(inner, "?", provider=Script(calls(("deeper", {})), text(f"answer {n}"))).output

    wanted = [("ask", {"n": n}) for n in range(40)]
    result = await run(Agent(name="a", tools=[ask]), "q", provider=Script(calls(*wanted), text("done")))
    assert [str(m.content) for m in result.messages[2:-1]] == [f"answer {n}" for n in range(40)]


# --- to_dict, from_dict -----------------------------------------------------------------------------------------------


def test_an_agent_survives_json() -> None:
    helper = Agent(name="helper", model="cheap:x", instructions="help")
    agent = Agent(
        name="a",
        model="big:x",
        instructions="be",
        tools=[add],
        handoffs=[helper],
        output_type=Answer,
        max_steps=3,
        temperature=0.5,
        max_tokens=99,
        fallbacks=["cheap:x"],
        failure="degrade",
    )
    data = json.loads(json.dumps(agent.to_dict()))
    again = Agent.from_dict(data)
    assert again.to_dict() == agent.to_dict()
    assert again.tools["add"] is add
    assert again.output_type is Answer
    assert again.handoffs["helper"].model == "cheap:x"
    assert again.traits == agent.traits


def test_a_swarm_survives_json_and_its_handoffs_lead_to_its_own_agents() -> None:
    b = Agent(name="b")
    swarm = Swarm(agents=[Agent(name="a", handoffs=[b]), b], mode="handoff", max_handoffs=4)
    again = Swarm.from_dict(json.loads(json.dumps(swarm.to_dict())))
    assert again.describe() == swarm.describe()
    assert again.agents["a"].handoffs["b"] is again.agents["b"]


async def _nothing(**data: Any) -> None:
    return None


def _in_a_circle() -> Agent:
    a, b = Agent(name="a"), Agent(name="b")
    a.handoffs["b"], b.handoffs["a"] = b, a
    return a


def plain(text: str) -> str:
    """A plain function as a tool."""
    return text


class Shout(Tool):
    """A tool that needs no arguments to be made."""

    def __init__(self, mark: str = "!") -> None:
        self.name = "shout"
        self.mark = mark

    async def execute(self, **kwargs: Any) -> str:
        return f"{kwargs['text']}{self.mark}"


def test_functions_and_classes_of_tools_survive_json() -> None:
    again = Agent.from_dict(Agent(name="a", tools=[plain, Shout()]).to_dict())
    assert isinstance(again.tools["shout"], Shout)
    assert again.tools["plain"].to_schema() == FunctionTool(plain).to_schema()


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (Agent(name="a", instructions=lambda name: name), "callable instructions"),
        (Agent(name="a", tools=[lambda: 1]), "cannot be imported"),
        (Agent(name="a", tools=[Shout("?")]), "made with arguments of its own"),
        (Agent(name="a", tools=[FunctionTool(plain, name="other")]), "is another tool"),
        (Agent(name="a", hooks=[(HookPoint.START, _nothing)]), "hooks"),
        (Agent(name="a", memory=object()), "memory"),
        (_in_a_circle(), "round in a circle: a -> b -> a"),
    ],
)
def test_what_has_no_name_is_refused(agent: Agent, why: str) -> None:
    # D15: a bare ValueError.
    with pytest.raises(ValueError, match=why) as caught:
        agent.to_dict()
    assert isinstance(caught.value, OrbiterError)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({}, "needs a 'name'"),
        ({"name": "a", "colour": "red"}, "unknown keys \\['colour'\\]"),
        ({"name": "a", "tools": ["no.such.thing"]}, "'no.such.thing' cannot be imported"),
        ({"name": "a", "output_type": "nothing"}, "'nothing' cannot be imported"),
    ],
)
def test_what_cannot_be_read_is_refused(data: dict[str, Any], why: str) -> None:
    with pytest.raises(SerialisationError, match=why) as caught:
        Agent.from_dict(data)
    assert isinstance(caught.value, AgentError)


# --- asking a person --------------------------------------------------------------------------------------------------


class Answers(HumanInputHandler):
    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Any]] = []

    async def get_input(self, prompt: str, choices: Sequence[str] | None = None) -> str:
        self.asked.append((prompt, choices))
        return self.answers.pop(0)


async def test_a_person_answers() -> None:
    human = HumanInputTool(Answers("blue"))
    provider = Script(calls(("human_input", {"prompt": "Which colour?"})), text("done"))
    result = await run(Agent(name="a", tools=[human]), "q", provider=provider)
    assert str(result.messages[2].content) == "blue"


async def test_an_answer_that_is_no_choice_is_asked_for_again() -> None:
    handler = Answers("yess", " yes ")
    assert await HumanInputTool(handler).execute(prompt="Go?", choices=["no", "yes"]) == "yes"
    assert [choices for _, choices in handler.asked] == [["no", "yes"]] * 2
    assert "please answer with one of: no, yes" in handler.asked[1][0]


async def test_nobody_answers_in_time() -> None:
    class Silent(HumanInputHandler):
        async def get_input(self, prompt: str, choices: Sequence[str] | None = None) -> str:
            await asyncio.Event().wait()
            return ""

    with pytest.raises(ToolError, match=r"^Human input request timed out$") as caught:
        await HumanInputTool(Silent(), timeout=0.001).execute(prompt="?")
    # D12: the cause was cut off.
    assert isinstance(caught.value.__cause__, TimeoutError)


async def test_nobody_can_be_asked() -> None:
    with pytest.raises(ToolError, match="The question cannot be asked"):
        await HumanInputTool().execute(prompt="?")


async def test_under_a_runtime_the_question_is_a_step_of_its_own() -> None:
    journal = Journal()
    journal.records["/value:ask~0"] = json.dumps("maybe")
    journal.asked["/value:ask~0"] = {"question": "Go?"}
    journal.records["/value:ask~1"] = json.dumps("yes")
    journal.asked["/value:ask~1"] = {"question": "Go? (please answer with one of: yes, no)"}
    with steps.entered(Recording(journal)):
        assert await HumanInputTool(Answers()).execute(prompt="Go?", choices=["yes", "no"]) == "yes"


async def test_the_console_handler_reads_a_line() -> None:
    out = io.StringIO()
    handler = ConsoleHandler(io.StringIO("blue\nnext\n"), out)
    assert await handler.get_input("Which?", ["red", "blue"]) == "blue"
    assert out.getvalue() == "Which? [red/blue] "
    with pytest.raises(ToolError, match="standard input has ended"):
        await ConsoleHandler(io.StringIO(""), out).get_input("Which?")
