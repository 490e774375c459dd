"""Values of graphs in the journal: LangGraph's own serialisation, as text that JSON can hold."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

Packed = list[str]
"""The kind of serialisation, and the bytes in Base64."""


def pack(value: Any, serde: SerializerProtocol | None = None) -> Packed:
    """A value in LangGraph's serialisation.

    Raises:
        TypeError: It cannot be serialised.
    """
    kind, data = (serde or _SERDE).dumps_typed(value)
    return [kind, b64encode(data).decode("ascii")]


def unpack(packed: Packed, serde: SerializerProtocol | None = None) -> Any:
    """The value from what `pack` wrote."""
    return (serde or _SERDE).loads_typed((packed[0], b64decode(packed[1])))


def digest(value: Any) -> str:
    """A short digest of JSON, in hexadecimal."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:12]


_SERDE = JsonPlusSerializer()
