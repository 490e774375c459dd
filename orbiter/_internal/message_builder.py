"""Message lists in the order that providers ask for (seed 001, "Message Builder")."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache

from orbiter.types import AssistantMessage, Message, SystemMessage, ToolResult

__all__ = ["build_messages", "extract_last_assistant_tool_calls", "merge_usage", "validate_message_order"]

log = logging.getLogger(__name__)


def build_messages(
    instructions: str, history: Sequence[Message], *, tool_results: Sequence[ToolResult] | None = None
) -> list[Message]:
    """A new list: system message (if there are instructions), history, tool results. The caller adds the user's."""
    messages: list[Message] = [_system_message(instructions)] if instructions else []
    messages.extend(history)
    if tool_results:
        messages.extend(tool_results)
    return messages


@lru_cache(maxsize=64)
def _system_message(instructions: str) -> SystemMessage:
    """Frozen, hence the same one in every run of an agent."""
    return SystemMessage(content=instructions)


def validate_message_order(messages: Sequence[Message]) -> list[str]:
    """Ids of tool calls that no later result answers, in order; a warning is logged if there are any."""
    open_calls: list[str] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            open_calls.extend(call.id for call in message.tool_calls)
        elif isinstance(message, ToolResult) and message.tool_call_id in open_calls:
            open_calls.remove(message.tool_call_id)
    if open_calls:
        log.warning("Dangling tool calls without results: %s", ", ".join(open_calls))
    return open_calls


def extract_last_assistant_tool_calls(messages: Sequence[Message]) -> list[str]:
    """Ids of the last assistant message's tool calls that are not answered yet; empty if it has none, or all are."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolResult):
            answered.add(message.tool_call_id)
        elif isinstance(message, AssistantMessage):
            return [call.id for call in message.tool_calls if call.id not in answered]
    return []


def merge_usage(current_input: int, current_output: int, new_input: int, new_output: int) -> tuple[int, int, int]:
    """Token counts added up, as (input, output, total)."""
    total_input, total_output = current_input + new_input, current_output + new_output
    return total_input, total_output, total_input + total_output
