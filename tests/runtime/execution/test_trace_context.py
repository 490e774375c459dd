"""The trace context of a call, as a tool and an MCP server see it: that of the span which is sent later."""

from __future__ import annotations

from pathlib import Path

from orbiter.redaction import Redactor
from runtime.judgement.traces.attribute_text import AttributeText
from runtime.judgement.traces.run_spans import RunSpans
from runtime.judgement.traces.span import TraceSettings
from runtime.record.state import events as ev
from tests.runtime.bench import ME, Bench

SWARMS = Path(__file__).parents[2] / "data" / "swarms"


async def traced(bench: Bench, settings: TraceSettings | None) -> dict[str, tuple[str, str]]:
    """What each tool said, and what is sent of it, by its name."""
    async with bench.driving(traces=settings):
        run = await bench.decisions.start(f"{SWARMS / 'traced.py'}:traced", "go", by=ME)
        await bench.ended(run)
    spans, found = RunSpans(TraceSettings(), AttributeText(Redactor())), {}
    for event in await bench.journal.read(run):
        for span in spans.apply(event):
            if isinstance(event, ev.StepEnded) and span.name.startswith("execute_tool"):
                found[span.name] = (event.result["content"], f"00-{span.trace:032x}-{span.id:016x}-01")
    return found


async def test_a_tool_sees_the_span_of_its_call_in_its_task_and_its_thread(bench: Bench) -> None:
    found = await traced(bench, TraceSettings())
    assert found.keys() == {"execute_tool in_thread", "execute_tool in_task"}
    assert all(said == sent for said, sent in found.values())


async def test_with_traces_off_there_is_no_context(bench: Bench) -> None:
    assert {said for said, _ in (await traced(bench, None)).values()} == {"none"}
