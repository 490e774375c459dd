"""Messages of a conversation, and the calls of tools in them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from orbiter._internal.values.content_blocks import Content
from orbiter._internal.values.frozen import Frozen, is_empty


class ToolCall(Frozen):
    """A call that a model asks for; `arguments` is a JSON string as the model wrote it.

    Attributes:
        id: The model's own id of the call; its result carries the same.
        name: The tool's name.
        arguments: The arguments as JSON text, unchecked.

    Examples:
        >>> from orbiter import ToolCall
        >>> ToolCall(id="call-1", name="search", arguments='{"text": "lamps"}').name
        'search'
    """

    id: str
    name: str
    arguments: str = ""


class UserMessage(Frozen):
    """What a user, or the agent before, says.

    Attributes:
        role: Always ``user``.
        content: Text, or a list of content blocks (text, images, audio, documents).

    Examples:
        >>> from orbiter import UserMessage
        >>> UserMessage(content="What do three lamps cost?").role
        'user'
    """

    role: Literal["user"] = "user"
    content: Content


class SystemMessage(Frozen):
    """An agent's instructions.

    Attributes:
        role: Always ``system``.
        content: The instructions.

    Examples:
        >>> from orbiter import SystemMessage
        >>> SystemMessage(content="Answer in one sentence.").role
        'system'
    """

    role: Literal["system"] = "system"
    content: Content


class AssistantMessage(Frozen):
    """A model's reply. `provider_data` is JSON that only the provider reads that wrote it and wants it back.

    Attributes:
        role: Always ``assistant``.
        content: What the model says; may be empty where it only calls tools.
        tool_calls: The tools that it asks for.
        provider_data: What the provider needs back with the next request, for example the signature of its reasoning.

    Examples:
        >>> from orbiter import AssistantMessage, ToolCall
        >>> reply = AssistantMessage(tool_calls=[ToolCall(id="call-1", name="search")])
        >>> [call.name for call in reply.tool_calls]
        ['search']
    """

    role: Literal["assistant"] = "assistant"
    content: Content = ""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    provider_data: dict[str, Any] | None = Field(default=None, exclude_if=is_empty)


class ToolResult(Frozen):
    """A tool's answer to one call: `content`, or `error` for the model to read and correct.

    Attributes:
        role: Always ``tool``.
        tool_call_id: The id of the call that it answers.
        tool_name: The tool's name.
        content: What the tool returned, as text or content blocks.
        error: Why it failed; None where it did not.

    Examples:
        >>> from orbiter import ToolResult
        >>> ToolResult(tool_call_id="call-1", tool_name="search", content="3 lamps").error is None
        True
    """

    role: Literal["tool"] = "tool"
    tool_call_id: str
    tool_name: str
    content: Content = ""
    error: str | None = None


Message = UserMessage | SystemMessage | AssistantMessage | ToolResult
"""One message of a conversation; `role` tells which. A list of them is what `run(…, messages=…)` takes and
`RunResult.messages` holds.
"""
AnyMessage = Annotated[Message, Field(discriminator="role")]
"""The same, as the type of a field: the class is chosen by `role`."""


class ActionModel(Frozen):
    """A tool call with its arguments parsed.

    Attributes:
        tool_call_id: The id of the call.
        tool_name: The tool's name.
        arguments: The arguments by name.
    """

    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
