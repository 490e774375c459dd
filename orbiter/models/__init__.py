"""Model providers. Importing this package loads no vendor's SDK; a provider's module is loaded when one is built.

The names are loaded when they are first asked for, as those of `orbiter`.

Imports `orbiter`, `orbiter._internal.arguments`, `orbiter.models.scripted`, `orbiter.parsing`, `orbiter.redaction`,
`httpx2` and `pydantic`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {
    "Call": "scripted",
    "Fault": "scripted",
    "FinishReason": "types",
    "ModelError": "types",
    "ModelProvider": "provider",
    "ModelResponse": "types",
    "Reply": "scripted",
    "Script": "scripted",
    "StreamAssembly": "reply_assembly",
    "StreamChunk": "types",
    "ToolCallDelta": "types",
    "get_provider": "provider",
    "model_registry": "provider",
    "script": "scripted",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'orbiter.models' has no attribute {name!r}")
    found = getattr(import_module(f"orbiter.models.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
