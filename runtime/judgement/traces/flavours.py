"""What some receivers want beside the GenAI conventions: the same facts under their own names.

Langfuse and Phoenix both know prices, but only of models whose names they know: our cost is sent outright.
"""

from __future__ import annotations

import json
from typing import Any

from runtime.judgement.traces import conventions as c
from runtime.judgement.traces.span import Attributes, Flavour

_LF_TYPES = {c.CHAT: "generation", c.EXECUTE_TOOL: "tool", c.INVOKE_AGENT: "agent", c.INVOKE_WORKFLOW: "chain"}
_OI_KINDS = {c.CHAT: "LLM", c.EXECUTE_TOOL: "TOOL", c.INVOKE_AGENT: "AGENT", c.INVOKE_WORKFLOW: "CHAIN"}
_JSON = "application/json"


def add_flavours(
    flavours: tuple[Flavour, ...], attributes: Attributes, *, error: str = "", failed: bool = False, user: str = ""
) -> None:
    """Add to a span's attributes what the receivers in `flavours` want of it.

    Args:
        attributes: Those of the conventions, with content where it is sent.
        error: What the span's status says.
        failed: Whether the status is an error.
        user: Who started the run.
    """
    if not flavours:
        return
    operation = str(attributes.get(c.OPERATION, ""))
    content = _content(attributes)
    attributes[c.SESSION] = attributes[c.RUN_ID]
    if user:
        attributes[c.USER] = user
    if "langfuse" in flavours:
        _add_langfuse(attributes, operation, content, error=error, failed=failed)
    if "phoenix" in flavours:
        _add_phoenix(attributes, operation, content)


def add_trace(flavours: tuple[Flavour, ...], attributes: Attributes, name: str) -> None:
    """Add what Langfuse shows of the trace as a whole, to the root's attributes."""
    if "langfuse" not in flavours:
        return
    attributes[c.LF_TRACE_NAME] = name
    given, came_out = _content(attributes)
    attributes |= {key: text for key, text in ((c.LF_TRACE_INPUT, given), (c.LF_TRACE_OUTPUT, came_out)) if text}


def _content(attributes: Attributes) -> tuple[str, str]:
    given = attributes.get(c.TOOL_ARGUMENTS) or attributes.get(c.INPUT_MESSAGES) or ""
    came_out = attributes.get(c.TOOL_RESULT) or attributes.get(c.OUTPUT_MESSAGES) or ""
    return str(given), str(came_out)


def _add_langfuse(
    attributes: Attributes, operation: str, content: tuple[str, str], *, error: str, failed: bool
) -> None:
    attributes[c.LF_TYPE] = _LF_TYPES.get(operation, "span")
    if failed:
        attributes |= {c.LF_LEVEL: "ERROR", c.LF_STATUS: error}
    if operation == c.CHAT:
        attributes[c.LF_MODEL] = attributes.get(c.RESPONSE_MODEL) or attributes[c.REQUEST_MODEL]
        if c.INPUT_TOKENS in attributes:
            attributes[c.LF_USAGE] = json.dumps(_usage_details(attributes))
    if c.COST in attributes:
        attributes[c.LF_COST] = json.dumps({"total": attributes[c.COST]})
    attributes |= {key: text for key, text in zip((c.LF_INPUT, c.LF_OUTPUT), content, strict=True) if text}


def _usage_details(attributes: Attributes) -> dict[str, Any]:
    """Tokens by kind. Langfuse adds them up, so that what is part of the input is taken off it."""
    read, written = _count(attributes, c.CACHE_READ_TOKENS), _count(attributes, c.CACHE_WRITE_TOKENS)
    reasoning = _count(attributes, c.REASONING_TOKENS)
    given, said = _count(attributes, c.INPUT_TOKENS), _count(attributes, c.OUTPUT_TOKENS)
    found = {
        "input": max(0, given - read - written),
        "output": max(0, said - reasoning),
        "input_cached_tokens": read,
        "input_cache_creation": written,
        "output_reasoning_tokens": reasoning,
    }
    return {
        **{key: count for key, count in found.items() if count or key in ("input", "output")},
        "total": given + said,
    }


def _count(attributes: Attributes, key: str) -> int:
    found = attributes.get(key, 0)
    return found if isinstance(found, int) else 0


def _add_phoenix(attributes: Attributes, operation: str, content: tuple[str, str]) -> None:
    attributes[c.OI_KIND] = _OI_KINDS.get(operation, "CHAIN")
    for source, target in (
        (c.AGENT, c.OI_AGENT),
        (c.TOOL_NAME, c.OI_TOOL),
        (c.PROVIDER, c.OI_PROVIDER),
        (c.PROVIDER, c.OI_SYSTEM),
        (c.INPUT_TOKENS, c.OI_PROMPT_TOKENS),
        (c.OUTPUT_TOKENS, c.OI_COMPLETION_TOKENS),
        (c.CACHE_READ_TOKENS, c.OI_CACHE_READ),
        (c.CACHE_WRITE_TOKENS, c.OI_CACHE_WRITE),
        (c.REASONING_TOKENS, c.OI_REASONING),
        (c.COST, c.OI_COST),
    ):
        if source in attributes:
            attributes[target] = attributes[source]
    if operation == c.CHAT:
        attributes[c.OI_MODEL] = attributes.get(c.RESPONSE_MODEL) or attributes[c.REQUEST_MODEL]
    if c.INPUT_TOKENS in attributes:
        attributes[c.OI_TOTAL_TOKENS] = _count(attributes, c.INPUT_TOKENS) + _count(attributes, c.OUTPUT_TOKENS)
    path = str(attributes.get(c.NODE_PATH, ""))
    if path:
        attributes[c.OI_NODE] = path
        if parent := path.rpartition("/")[0]:
            attributes[c.OI_PARENT_NODE] = parent
    for text, value, kind in ((content[0], c.OI_INPUT, c.OI_INPUT_TYPE), (content[1], c.OI_OUTPUT, c.OI_OUTPUT_TYPE)):
        if text:
            attributes |= {value: text, kind: _JSON}
