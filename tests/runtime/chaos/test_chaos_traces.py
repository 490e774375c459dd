"""Traces of runs whose process was killed: one trace, nothing lost, nothing twice but what was sent and not noted."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Callable

from orbiter.redaction import Redactor
from runtime.judgement.traces import ids
from runtime.judgement.traces.attribute_text import AttributeText
from runtime.judgement.traces.run_spans import RunSpans
from runtime.judgement.traces.span import TraceSettings
from runtime.record.state import events as ev
from tests.runtime.chaos.harness import Place
from tests.runtime.otlp_collector import OtlpCollector

KILLS = 3
KILL_AFTER = 4
"""After how many appends each of the first lives is killed; notes of what was sent are appends, too. A life that only
finds out that a call is in doubt makes fewer: it ends by itself, and is not one of the three.
"""


async def test_three_kills_in_a_run_leave_one_trace_with_every_span(place: Callable[[str], Place]) -> None:
    with OtlpCollector() as collector:
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_BSP_SCHEDULE_DELAY": "1",
            "OTEL_METRICS_EXPORTER": "none",
        }
        async with place("traced") as found:
            run = await found.start("zoo:workflow")
            killed = 0
            while killed < KILLS:
                died = await found.lives.live(found.root, traces=True, env=env, die_after=KILL_AFTER)
                doubts = await found.answer_all()
                assert died == -signal.SIGKILL or doubts, found.log
                killed += died == -signal.SIGKILL
            await found.to_the_end([run], always={"traces": True, "env": env})
            events = await found.journal.read(run)
            spans = RunSpans(TraceSettings(), AttributeText(Redactor()))
            wanted = {each.id.to_bytes(8, "big"): each for event in events for each in spans.apply(event)}
            last = found.lives.begin("live", found.root, traces=True, env=env, stay=True)
            async with asyncio.timeout(60):  # it sends what the others had no time to send
                while {each.span.span_id for each in collector.spans} != set(wanted):  # noqa: ASYNC110 - of a process
                    await asyncio.sleep(0.02)
            await last.signal(signal.SIGTERM)
            assert await last.status() in (0, -signal.SIGTERM)  # where nothing was left to send it had just begun
    received = [each.span for each in collector.spans]
    assert {each.trace_id for each in received} == {ids.trace_id(run).to_bytes(16, "big")}
    assert {each.span_id for each in received} == set(wanted), "none is lost, and none is of no event"
    for each in received:
        span = wanted[each.span_id]
        assert (each.name, each.parent_span_id) == (span.name, span.parent.to_bytes(8, "big") if span.parent else b"")
        assert (each.start_time_unix_nano, each.end_time_unix_nano) == (span.start, span.end)
    (root,) = [each for each in wanted.values() if not each.parent]
    assert (
        root.attributes["orbiter.run.lives"] == len([each for each in events if isinstance(each, ev.RunStarted)]) >= 4
    )
    took = events[-1].ts - events[0].ts
    assert (root.end - root.start) // 1_000 == round(took.total_seconds() * 1e6)
    again = {name: count for name, count in Counter(each.span_id for each in received).items() if count > 1}
    assert sum(again.values()) - len(again) <= KILLS * len(wanted) / 2, "only what was sent and not noted"
