"""Model providers. Importing this package loads no vendor's SDK; a provider's module is loaded when one is built.

Imports `orbiter`, `orbiter.models.scripted`, `orbiter.redaction`, `httpx2` and `pydantic`.
"""

from __future__ import annotations

from orbiter.models.provider import ModelProvider, get_provider, model_registry
from orbiter.models.reply_assembly import StreamAssembly
from orbiter.models.scripted import Call, Fault, Reply, Script, script
from orbiter.models.types import FinishReason, ModelError, ModelResponse, StreamChunk, ToolCallDelta

__all__ = [
    "Call",
    "Fault",
    "FinishReason",
    "ModelError",
    "ModelProvider",
    "ModelResponse",
    "Reply",
    "Script",
    "StreamAssembly",
    "StreamChunk",
    "ToolCallDelta",
    "get_provider",
    "model_registry",
    "script",
]
