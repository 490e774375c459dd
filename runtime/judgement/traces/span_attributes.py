"""Attributes of each kind of span, from the events that opened and ended it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.judgement.faults.cause_text import CAUSE_TEXT
from runtime.judgement.traces import conventions as c
from runtime.judgement.traces.attribute_text import AttributeText
from runtime.judgement.traces.content import CallContent
from runtime.judgement.traces.span import Attributes
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Classification

_PROVIDERS: Final = {"gemini": "gcp.gemini", "vertex": "gcp.vertex_ai", "azure": "azure.ai.openai", "xai": "x_ai"} | {
    "bedrock": "aws.bedrock",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
}
"""Our providers whose name in the conventions is another."""


def model_names(model: str) -> tuple[str, str]:
    """The provider as the conventions call it, and the model, from a model string (`openai:gpt-4.1`)."""
    provider, colon, name = model.partition(":")
    return (_PROVIDERS.get(provider, provider), name) if colon else ("_OTHER", model)


def chat_attributes(text: AttributeText, model: str, ended: ev.StepEnded | None) -> Attributes:
    """Of a model's call; `ended` is None where its process died."""
    provider, name = model_names(model)
    found: Attributes = {
        c.OPERATION: c.CHAT,
        c.PROVIDER: text.name(provider),
        c.REQUEST_MODEL: text.name(name),
    }
    if ended is None:
        return found
    result: Mapping[str, Any] = ended.result if isinstance(ended.result, Mapping) else {}
    for key, attribute in (("model", c.RESPONSE_MODEL), ("id", c.RESPONSE_ID)):
        if isinstance(said := result.get(key), str) and said:
            found[attribute] = text.name(said)
    if isinstance(reason := result.get("finish_reason"), str) and reason:
        found[c.FINISH_REASONS] = [text.name(reason)]
    if ended.fault is None and ended.by is None:
        found |= {c.INPUT_TOKENS: ended.input_tokens, c.OUTPUT_TOKENS: ended.output_tokens}
        found |= _token_parts(result.get("usage"))
    if ended.cost_usd is not None:
        found[c.COST] = ended.cost_usd
    return found


def _token_parts(usage: Any) -> Attributes:
    if not isinstance(usage, Mapping):
        return {}
    names = (("cached_tokens", c.CACHE_READ_TOKENS), ("cache_write_tokens", c.CACHE_WRITE_TOKENS))
    parts = (*names, ("reasoning_tokens", c.REASONING_TOKENS))
    return {name: count for key, name in parts if isinstance(count := usage.get(key), int) and count}


def tool_attributes(text: AttributeText, name: str, call_id: Any, permissions: tuple[str, ...] = ()) -> Attributes:
    """Of a tool's call; a round with an MCP server says so."""
    found: Attributes = {c.OPERATION: c.EXECUTE_TOOL, c.TOOL_NAME: text.name(name), c.TOOL_TYPE: "function"}
    if isinstance(call_id, str) and call_id:
        found[c.TOOL_CALL_ID] = text.id(call_id)
    if any(each.startswith("mcp.call:") for each in permissions):
        found |= {c.MCP_METHOD: "tools/call", c.TOOL_TYPE: "extension"}
    return found


def put_content(text: AttributeText, attributes: Attributes, content: CallContent, *, tool: bool = False) -> None:
    """Add what went in and came out, as JSON text."""
    names = (c.TOOL_ARGUMENTS, c.TOOL_RESULT) if tool else (c.INPUT_MESSAGES, c.OUTPUT_MESSAGES)
    values = zip((*names, c.SYSTEM_INSTRUCTIONS), (content.input, content.output, content.system), strict=True)
    attributes |= {name: text.json(value) for name, value in values if value is not None}


def fault_text(text: AttributeText, fault: Classification, *, content: bool) -> str:
    """What a span's status says of a fault. An error may quote what was sent: without content it is our sentence."""
    said = fault.user_message if content and fault.user_message else CAUSE_TEXT[fault.cause]
    return text.text(said)[:1_000]


def decision_event(text: AttributeText, answer: ev.IncidentAnswered, *, content: bool) -> Attributes:
    """Of the event `decision`: which option, by whom, by what way."""
    found: Attributes = {c.DECISION: text.name(answer.option), c.CHANNEL: answer.by.channel}
    if answer.by.name:
        found[c.ACTOR] = text.name(answer.by.name)
    if content and answer.reason:
        found[c.REASON] = text.text(answer.reason)
    return found
