"""What passes between models, agents, tools and callers: messages, results, usage, stream events.

All models are frozen pydantic models. Names and defaults are those of the seeds; fields that the seeds do not have
carry defaults and are left out of a dump while they hold them, so that a dump of old fields reads as it always did.
Where each is declared: `orbiter._internal.values`.
"""

from __future__ import annotations

from orbiter._internal.values.content_blocks import (
    AudioBlock,
    Content,
    ContentBlock,
    DocumentBlock,
    ImageDataBlock,
    ImageURLBlock,
    TextBlock,
    VideoBlock,
    content_text,
)
from orbiter._internal.values.messages import (
    ActionModel,
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from orbiter._internal.values.protocols import ChatProvider, Runnable
from orbiter._internal.values.results import NO_USAGE, AgentInput, AgentOutput, OutputT_co, RunResult, Usage
from orbiter._internal.values.stream_events import (
    ErrorEvent,
    ReasoningEvent,
    StatusEvent,
    StepEvent,
    StreamEvent,
    TextEvent,
    ToolCallEvent,
    ToolResultEvent,
    UsageEvent,
)
from orbiter.errors import OrbiterError

__all__ = [
    "NO_USAGE",
    "ActionModel",
    "AgentInput",
    "AgentOutput",
    "AssistantMessage",
    "AudioBlock",
    "ChatProvider",
    "Content",
    "ContentBlock",
    "DocumentBlock",
    "ErrorEvent",
    "ImageDataBlock",
    "ImageURLBlock",
    "Message",
    "OrbiterError",
    "OutputT_co",
    "ReasoningEvent",
    "RunResult",
    "Runnable",
    "StatusEvent",
    "StepEvent",
    "StreamEvent",
    "SystemMessage",
    "TextBlock",
    "TextEvent",
    "ToolCall",
    "ToolCallEvent",
    "ToolResult",
    "ToolResultEvent",
    "Usage",
    "UsageEvent",
    "UserMessage",
    "VideoBlock",
    "content_text",
]
