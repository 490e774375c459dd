"""The spans of guests: those of our own agents; their tools run in the span of their call."""

from __future__ import annotations

import pytest

from orbiter.redaction import Redactor
from runtime.judgement.traces import conventions as c
from runtime.judgement.traces.attribute_text import AttributeText
from runtime.judgement.traces.run_spans import RunSpans
from runtime.judgement.traces.span import TraceSettings
from tests.runtime.bench import ZOO, Bench
from tests.runtime.guest_bench import starts

start = starts(ZOO.with_name("traced_guests.py"))


@pytest.mark.parametrize("name", ["of_pydantic_ai", "of_langchain"])
async def test_a_guest_is_an_agent_with_chats_and_tools_below_it(bench: Bench, name: str) -> None:
    async with bench.driving(traces=TraceSettings()):
        run = await start(bench, name)
        state = await bench.ended(run)
    fold = RunSpans(TraceSettings(), AttributeText(Redactor()))
    spans = [span for event in await bench.journal.read(run) for span in fold.apply(event)]
    assert [span.name for span in sorted(spans, key=lambda each: each.start)] == [
        f"invoke_workflow traced_guests.py:{name}",
        "invoke_agent researcher",
        "chat scripted",
        "execute_tool where",
        "chat scripted",
    ]
    by_operation = {str(span.attributes[c.OPERATION]): span for span in spans}
    root, agent, tool = (by_operation[each] for each in (c.INVOKE_WORKFLOW, c.INVOKE_AGENT, c.EXECUTE_TOOL))
    assert (root.parent, agent.parent) == (0, root.id)
    assert {span.parent for span in spans if span not in (root, agent)} == {agent.id}
    assert (agent.attributes[c.AGENT], tool.attributes[c.TOOL_NAME]) == ("researcher", "where")
    assert tool.attributes[c.TOOL_CALL_ID] == "c0"
    chats = [span for span in spans if span.attributes[c.OPERATION] == c.CHAT]
    assert {span.kind for span in chats} == {"client"}
    assert all(isinstance(span.attributes[c.INPUT_TOKENS], int) and span.attributes[c.INPUT_TOKENS] for span in chats)
    assert state.output == f"00-{tool.trace:032x}-{tool.id:016x}-01", "what the tool saw is the span that is sent"
