"""Kind and state of a node as people are told them: one below which nothing moves does not run, it holds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from screens.render.glyphs import state_word
from screens.render.sanitize import sanitize_line

if TYPE_CHECKING:
    from runtime.record.state.durable_run import Node

KIND_WORDS: Final = {"llm": "model", "value": "question"}
"""Kinds of nodes that have another word for an operator than for the code."""
_WORDS: Final = {"succeeded": "done"}
NO_HOLDING: Final[Mapping[str, int]] = MappingProxyType({})


def kind_words(node: Node) -> str:
    """What a node is, in an operator's words; of a guest with its framework, as in `agent (pydantic-ai)`."""
    kind = KIND_WORDS.get(node.kind, node.kind)
    framework = sanitize_line(str(node.info.get("framework", "")), limit=40)
    return f"{kind} ({framework})" if framework else kind


def shown_state(node: Node, holding: Mapping[str, int]) -> str:
    """The state that people are told of a node: one below which nothing moves (`holding`) does not run, it holds."""
    return "holds" if node.id in holding else node.phase


def shown_word(node: Node, holding: Mapping[str, int]) -> str:
    """`shown_state` in words."""
    below = holding.get(node.id)
    return f"waits for {below} below" if below else node_word(node.phase)


def node_word(phase: str) -> str:
    """The state of a node as a person says it: what succeeded is done."""
    return _WORDS.get(phase, state_word(phase))
