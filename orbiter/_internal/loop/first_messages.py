"""The messages that an agent run begins with: instructions, history, and what the user says. A provider that has no
parameter for structured output is asked for it in the instructions.
"""

from __future__ import annotations

import json
import reprlib
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final

from orbiter._internal.conversation_check import read_conversation
from orbiter._internal.loop.value_step import record_value
from orbiter._internal.message_builder import build_messages
from orbiter._internal.values.frozen import build_checked
from orbiter.errors import AgentError
from orbiter.steps import Place, Scope
from orbiter.text_encoding import drop_surrogates, plain_text
from orbiter.types import Message, SystemMessage, UserMessage

if TYPE_CHECKING:
    from orbiter.agent import Agent

_ASKED: Final = {"content"}


def first_messages(
    agent: Agent, provider: Any, history: list[Message] | None, input: str, instructions: str
) -> list[Message]:
    """The conversation up to the first question, in a list of its own.

    Raises:
        AgentError: The input is not a text, or the history has something else than messages, or a wrong field.
    """
    if not isinstance(input, str):
        raise AgentError(
            f"Agent '{agent.name}': the input must be a text, got {reprlib.repr(input)}",
            suggestion="Pass what the user says; other content goes to messages, in a UserMessage.",
        )
    before = read_conversation(agent.name, history)
    if agent.output_type is not None and not getattr(type(provider), "structured", False):
        schema = json.dumps(agent.output_type.model_json_schema(), ensure_ascii=False)
        asked = f"Give your final answer as one JSON object that fits this JSON schema, and nothing else:\n{schema}"
        instructions = f"{instructions}\n\n{asked}" if instructions else asked
    instructions = drop_surrogates(instructions)
    messages = build_messages(instructions, _without_instructions(before, instructions) if before else ())
    messages.append(build_checked(UserMessage, {"role": "user", "content": plain_text(input)}, _ASKED))
    return messages


async def called_instructions(agent: Agent, scope: Scope) -> str:
    """What callable instructions return; recorded under `scope`."""
    said: str = await record_value(
        scope, "instructions", Place(0), _call_instructions, {"_agent": agent}, agent=agent.name
    )
    return said


def _without_instructions(history: list[Message], instructions: str) -> list[Message]:
    """The history, less this agent's own instructions from an earlier run: they would stand there twice."""
    return [m for m in history if not (isinstance(m, SystemMessage) and m.content == instructions)]


async def _call_instructions(arguments: dict[str, Any]) -> str:
    """Callable instructions get the agent's name (seed 001); async ones are awaited."""
    agent = arguments["_agent"]
    value = agent.instructions(agent.name)
    if isawaitable(value):
        value = await value
    return "" if value is None else str(value)
