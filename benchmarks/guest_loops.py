"""The work that `benchmarks.guests` measures: a tool loop as an agent of pydantic-ai and as one of LangChain.

Each is on a model of its framework without latency. Also a swarm file, which the runtime drives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.data.scripted_chat import Reply, ScriptedChat


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def _reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    said = sum(isinstance(each, ModelResponse) for each in messages)
    first = messages[0]
    assert isinstance(first, ModelRequest)
    task = next(str(each.content) for each in first.parts if isinstance(each, UserPromptPart))
    if said == int(task):
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart("add", {"a": said, "b": 3}, tool_call_id=f"c{said}")])


typed = Agent(FunctionModel(_reply, model_name="instant"), name="typed", tools=[Tool(add)])


def _call_or_end(messages: list[BaseMessage]) -> Reply:
    """Calls the tool as often as the task says, then ends."""
    said = sum(isinstance(each, AIMessage) for each in messages)
    task = next(each.text for each in messages if isinstance(each, HumanMessage))
    return "done" if said == int(task) else [("add", f"c{said}", {"a": said, "b": 3})]


def chain(middleware: Sequence[Any] = (), **more: Any) -> Any:
    """The agent of LangChain. In a run it is given our middleware."""
    return create_agent(ScriptedChat(reply=_call_or_end), [tool(add)], middleware=middleware, name="chain", **more)
