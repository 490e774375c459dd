"""What Langfuse and Phoenix get of a run: their documented mappings, attribute by attribute, each with its page."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from runtime.judgement.traces import conventions as c
from runtime.judgement.traces.span import Flavour, TraceSettings
from runtime.record.state.fault_taxonomy import Cause, Classification, Origin, Persistence
from tests.runtime.judgement.traces.test_run_spans import Recorder, folded

LANGFUSE = "https://langfuse.com/integrations/native/opentelemetry#property-mapping"
OPENINFERENCE = "https://arize-ai.github.io/openinference/spec/attributes/semantic-conventions.html"
LLM_SPANS = "https://arize-ai.github.io/openinference/spec/spans/llm.html"

ROOT, AGENT, CHAT, TOOL, FAILED = (
    "root", "invoke_agent a", "chat gpt", "execute_tool look", "execute_tool bad",
)  # fmt: skip


class As(str):
    """The same text as another attribute of the span has."""

    __slots__ = ()


class Row(NamedTuple):
    """An attribute of a span: where it is documented, what it is called, what it is."""

    page: str
    name: str
    span: str
    value: Any


USAGE = {"input": 5, "input_cached_tokens": 4, "input_cache_creation": 1, "output": 3, "output_reasoning_tokens": 2}
ROWS: dict[Flavour, tuple[Row, ...]] = {
    "langfuse": (
        Row(LANGFUSE, "session.id", TOOL, "r1"),
        Row(LANGFUSE, "user.id", TOOL, "ann"),
        Row(LANGFUSE, "langfuse.trace.name", ROOT, "x.py:demo"),
        Row(LANGFUSE, "langfuse.trace.input", ROOT, As(c.INPUT_MESSAGES)),
        Row(LANGFUSE, "langfuse.trace.output", ROOT, As(c.OUTPUT_MESSAGES)),
        Row(LANGFUSE, "langfuse.observation.type", ROOT, "chain"),
        Row(LANGFUSE, "langfuse.observation.type", AGENT, "agent"),
        Row(LANGFUSE, "langfuse.observation.type", CHAT, "generation"),
        Row(LANGFUSE, "langfuse.observation.type", TOOL, "tool"),
        Row(LANGFUSE, "langfuse.observation.model.name", CHAT, "gpt-2026"),
        Row(LANGFUSE, "langfuse.observation.usage_details", CHAT, {**USAGE, "total": 15}),
        Row(LANGFUSE, "langfuse.observation.cost_details", CHAT, {"total": 0.25}),
        Row(LANGFUSE, "langfuse.observation.input", CHAT, As(c.INPUT_MESSAGES)),
        Row(LANGFUSE, "langfuse.observation.output", CHAT, As(c.OUTPUT_MESSAGES)),
        Row(LANGFUSE, "langfuse.observation.input", TOOL, {"what": "x"}),
        Row(LANGFUSE, "langfuse.observation.output", TOOL, '"saw x"'),
        Row(LANGFUSE, "langfuse.observation.level", FAILED, "ERROR"),
        Row(LANGFUSE, "langfuse.observation.status_message", FAILED, "it broke"),
    ),
    "phoenix": (
        Row(OPENINFERENCE, "session.id", TOOL, "r1"),
        Row(OPENINFERENCE, "user.id", TOOL, "ann"),
        Row(OPENINFERENCE, "openinference.span.kind", ROOT, "CHAIN"),
        Row(OPENINFERENCE, "openinference.span.kind", AGENT, "AGENT"),
        Row(OPENINFERENCE, "openinference.span.kind", CHAT, "LLM"),
        Row(OPENINFERENCE, "openinference.span.kind", TOOL, "TOOL"),
        Row(OPENINFERENCE, "agent.name", AGENT, "a"),
        Row(OPENINFERENCE, "tool.name", TOOL, "look"),
        Row(OPENINFERENCE, "graph.node.id", TOOL, "a~0/tool~0"),
        Row(OPENINFERENCE, "graph.node.parent_id", TOOL, "a~0"),
        Row(LLM_SPANS, "llm.system", CHAT, "openai"),
        Row(LLM_SPANS, "llm.provider", CHAT, "openai"),
        Row(LLM_SPANS, "llm.model_name", CHAT, "gpt-2026"),
        Row(LLM_SPANS, "input.value", CHAT, As(c.INPUT_MESSAGES)),
        Row(LLM_SPANS, "input.mime_type", CHAT, "application/json"),
        Row(LLM_SPANS, "output.value", CHAT, As(c.OUTPUT_MESSAGES)),
        Row(LLM_SPANS, "output.mime_type", CHAT, "application/json"),
        Row(OPENINFERENCE, "input.value", TOOL, {"what": "x"}),
        Row(OPENINFERENCE, "output.value", TOOL, '"saw x"'),
        Row(OPENINFERENCE, "output.mime_type", TOOL, "application/json"),
        Row(OPENINFERENCE, "llm.token_count.prompt", CHAT, 10),
        Row(OPENINFERENCE, "llm.token_count.completion", CHAT, 5),
        Row(OPENINFERENCE, "llm.token_count.total", CHAT, 15),
        Row(OPENINFERENCE, "llm.token_count.prompt_details.cache_read", CHAT, 4),
        Row(OPENINFERENCE, "llm.token_count.prompt_details.cache_write", CHAT, 1),
        Row(OPENINFERENCE, "llm.token_count.completion_details.reasoning", CHAT, 2),
        Row(OPENINFERENCE, "llm.cost.total", CHAT, 0.25),
    ),
}


def spans(*flavours: Flavour) -> dict[str, dict[str, Any]]:
    """The attributes of a run's spans, by name."""
    found = Recorder()
    found.agent()
    found.step("llm", "openai:gpt", requested={"messages": [{"role": "user", "content": "hi"}], "count": 1})
    usage = {"cached_tokens": 4, "cache_write_tokens": 1, "reasoning_tokens": 2}
    result = {"text": "ho", "tool_calls": [], "finish_reason": "stop", "model": "gpt-2026", "usage": usage}
    found.end("llm", result=result, seconds=0.5, input_tokens=10, output_tokens=5, cost_usd=0.25)
    found.step("tool", "look", requested={"id": "c1", "arguments": {"what": "x"}})
    found.end("tool", result={"role": "tool", "tool_call_id": "c1", "content": "saw x"}, seconds=0.5)
    found.step("tool", "bad", 2, requested={"id": "c2", "arguments": {}})
    fault = Classification(
        origin=Origin.TOOL, cause=Cause.TOOL_FAILED, persistence=Persistence.UNKNOWN, user_message="it broke"
    )
    found.end("tool", 2, fault=fault, seconds=0.5)
    made = folded(found.finish(), TraceSettings(flavours=flavours, content=True))
    return {span.name if span.parent else ROOT: dict(span.attributes) for span in made}


@pytest.mark.parametrize("flavour", ROWS)
def test_a_receiver_gets_what_its_pages_say(flavour: Flavour) -> None:
    found = spans(flavour)
    for row in ROWS[flavour]:
        given, wanted = found[row.span].get(row.name), row.value
        if isinstance(wanted, As):
            wanted = found[row.span][wanted]
        elif isinstance(wanted, dict):
            given = json.loads(str(given))
        assert given == wanted, row


@pytest.mark.parametrize("flavour", ROWS)
def test_nothing_is_sent_that_has_no_page(flavour: Flavour) -> None:
    found, bare = spans(flavour), spans()
    added = {name for span, attributes in found.items() for name in attributes if name not in bare[span]}
    assert added == {row.name for row in ROWS[flavour]}


def test_of_the_trace_only_the_root_speaks() -> None:
    found = spans("langfuse")
    assert [span for span, attributes in found.items() if c.LF_TRACE_NAME in attributes] == [ROOT]
