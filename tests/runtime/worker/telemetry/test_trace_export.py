"""Spans on their way to a real receiver on loopback: cursor, claim, back-off, refusals, hangs; metrics; both stores."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from opentelemetry.exporter.otlp.common import http
from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from orbiter.redaction import Redactor
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.traces import conventions as c
from runtime.judgement.traces import ids
from runtime.judgement.traces.attribute_text import AttributeText
from runtime.judgement.traces.run_spans import RunSpans
from runtime.judgement.traces.span import Span, TraceSettings
from runtime.operations.decisions import Decisions
from runtime.record.journal_care import JournalCare
from runtime.record.places import init_database, open_journal
from runtime.record.state import events as ev
from runtime.worker.supervisor import Supervisor
from runtime.worker.telemetry import trace_export
from runtime.worker.telemetry.cursor import last_word, read_cursor
from runtime.worker.telemetry.otlp_sender import OtlpSender
from runtime.worker.telemetry.trace_export import TraceExport
from tests.runtime.bench import ME, ZOO, Bench
from tests.runtime.otlp_collector import OtlpCollector, Received, plain

BARE = TraceSettings()


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpCollector]:
    with OtlpCollector() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "0")
        monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
        yield found


async def until(fact: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while True:
            found = fact()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.02)


@asynccontextmanager
async def exporting(journal: JournalCare, settings: TraceSettings = BARE, **more: Any) -> AsyncIterator[TraceExport]:
    export = TraceExport(journal, settings, owner="me", first_pause_s=0.01, **more)
    serving = asyncio.create_task(export.serve())
    try:
        yield export
        await until(lambda: export._batch is None)  # a stop in between would have it sent again
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def names(spans: list[Received]) -> Counter[str]:
    return Counter(each.span.name for each in spans)


async def expected(journal: JournalCare, run: str) -> set[tuple[str, bytes, int, int]]:
    """The run's spans, straight from its events."""
    spans = RunSpans(BARE, AttributeText(Redactor()))
    found = [span for event in await journal.read(run) for span in spans.apply(event)]
    return {(each.name, each.id.to_bytes(8, "big"), each.start, each.end) for each in found}


def got(spans: list[Received]) -> list[tuple[str, bytes, int, int]]:
    return [
        (each.span.name, each.span.span_id, each.span.start_time_unix_nano, each.span.end_time_unix_nano)
        for each in spans
    ]


@pytest.fixture(params=["sqlite", "postgres"])
async def journals(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[JournalCare]]:
    place: str | Path = tmp_path / "state"
    if request.param == "postgres":
        place = request.getfixturevalue("postgres_url")
        await init_database(place)
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(await open_journal(place)) for _ in range(3)]


async def test_of_several_workers_one_sends_each_span_once_in_one_trace_for_each_run(
    journals: list[JournalCare], collector: OtlpCollector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    journal, *others = journals
    config = ExecutionConfig(workspace=str(tmp_path), drain_s=0.2, traces=BARE)
    supervisors = [Supervisor(each, config, period_s=0.02) for each in others]
    serving = [asyncio.create_task(each.serve()) for each in supervisors]
    decisions = Decisions(journal, tmp_path)
    runs = [await decisions.start(f"{ZOO}:{name}", "go", by=ME) for name in ("chatty", "workflow", "chatty")]
    roots = {ids.trace_id(run).to_bytes(16, "big"): run for run in runs}

    def all_there() -> bool:
        return Counter(
            roots[each.span.trace_id] for each in collector.spans if not each.span.parent_span_id
        ) == dict.fromkeys(runs, 1)

    await until(all_there)
    for each in supervisors:
        each.stop()
    await asyncio.gather(*serving)
    for run in runs:
        spans = [each for each in collector.spans if roots[each.span.trace_id] == run]
        assert Counter(got(spans)) == dict.fromkeys(await expected(journal, run), 1)
        known = {each.span.span_id for each in spans}
        assert {each.span.parent_span_id for each in spans} - {b""} <= known
    assert await read_cursor(journal) is not None


async def test_what_is_sent_is_the_conventions_form(bench: Bench, collector: OtlpCollector) -> None:
    async with bench.driving(traces=BARE):
        run, asked = await bench.asked("asker")
        await bench.ended_by(asked, "input", value="me")
        await until(lambda: any(not each.span.parent_span_id for each in collector.spans))
        await until(lambda: bool(collector.metrics))
    spans = {each.span.name: each for each in collector.spans}
    root, waited = spans["invoke_workflow zoo.py:asker"], spans["incident missing_input"]
    assert {each.schema_url or each.scope.name for each in spans.values()} == {c.SCHEMA_URL}
    assert {(each.scope.name, each.resource["service.name"]) for each in spans.values()} == {("orbiter-console",) * 2}
    assert root.attributes["gen_ai.operation.name"] == "invoke_workflow"
    assert root.attributes["gen_ai.conversation.id"] == run
    (decided,) = waited.span.events
    assert (decided.name, plain(decided.attributes)["orbiter.decision"]) == ("decision", "input")
    chat = spans["chat zoo/asker"]
    assert (chat.span.kind, chat.attributes["gen_ai.request.model"]) == (3, "zoo/asker")
    assert collector.headers[0]["content-type"] == "application/x-protobuf"

    sums: Counter[tuple[str, str]] = Counter()
    (resource,) = collector.metrics[-1].resource_metrics
    for scope in resource.scope_metrics:
        for metric in scope.metrics:
            kind = metric.WhichOneof("data")
            for point in getattr(metric, kind).data_points:
                labels = plain(point.attributes)
                assert (labels["gen_ai.request.model"], labels["gen_ai.provider.name"]) == ("zoo/asker", "scripted")
                detail = labels.get("gen_ai.token.modality", "")
                counted = point.count if kind == "histogram" else bool(point.as_int) and metric.sum.is_monotonic
                sums[f"{scope.schema_url.rpartition('/')[2]} {metric.name}", detail] += counted
                if metric.unit == "{token}" and kind == "histogram":
                    assert list(point.explicit_bounds)[:3] == [1, 4, 16]
    calls = len([each for each in collector.spans if each.span.name == "chat zoo/asker"])
    assert sums == {
        ("0.1.0 gen_ai.client.inference.duration", ""): calls,
        ("0.1.0 gen_ai.client.inference.usage.input_tokens", "unknown"): 1,
        ("0.1.0 gen_ai.client.inference.usage.output_tokens", "unknown"): 1,
        ("0.1.0 gen_ai.client.inference.operation.input_tokens", ""): calls,
        ("0.1.0 gen_ai.client.inference.operation.output_tokens", ""): calls,
    }


KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"


class Refusal(NamedTuple):
    """What a receiver answers that takes nothing (0: it refuses connections), and what we say of it."""

    status: int
    said: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


REFUSALS = {
    "key": Refusal(
        401, "the receiver answered 401 Unauthorized: ", body=f'{{"error": "no user\x1b[2J {KEY}"}}'
    ),
    "too-many": Refusal(429, "the receiver answered 429 Too Many Requests", (("retry-after", "0"),)),
    "down": Refusal(503, "the receiver answered 503 Service Unavailable"),
    "redirect": Refusal(302, "the receiver answered 302 and redirects to /login: ", (("location", "/login"),)),
    "login-page": Refusal(203, "the answer is an HTML page", body="<!DOCTYPE html><title>Log in</title>"),
    "closed": Refusal(0, "no connection: Connection refused"),
}  # fmt: skip


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
async def test_a_receiver_that_takes_nothing_is_told_of_and_has_every_span_once_in_the_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, refusal: Refusal
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    monkeypatch.setattr(http, "_MAX_RETRIES", 1)  # the library's last try has little time: a slow answer would double
    with OtlpCollector(listening=bool(refusal.status)) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        collector.status, collector.answer_headers = refusal.status or 200, dict(refusal.headers)
        collector.body = refusal.body.encode()
        async with bench.driving(), exporting(bench.journal):
            run = await bench.start("chatty")
            await bench.ended(run)
            await until(lambda: _is_held_back(bench, refusal.said))
            assert collector.spans == []
            wanted = await expected(bench.journal, run)
            collector.status, collector.answer_headers, collector.body = 200, {}, b""
            if not refusal.status:
                collector.listen()
            await until(lambda: set(got(collector.spans)) == wanted)
            await until(lambda: _is_accepted(bench))
    assert Counter(got(collector.spans)) == dict.fromkeys(wanted, 1)
    told = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert {each.name for each in told} == {"runtime.traces"}, "no line of the library's"
    assert any(refusal.said in each.getMessage() for each in told)
    assert "traces are accepted again" in caplog.text
    assert KEY not in caplog.text
    assert "\x1b" not in caplog.text


async def _is_held_back(bench: Bench, said: str) -> bool:
    word = await last_word(bench.journal)
    return isinstance(word, ev.TracesHeldBack) and said in word.reason and KEY not in word.reason


async def _is_accepted(bench: Bench) -> bool:
    return isinstance(await last_word(bench.journal), ev.TracesSent)


def test_how_long_a_receiver_asks_to_be_left_alone_is_known(collector: OtlpCollector) -> None:
    collector.status = 429
    collector.answer_headers = {"retry-after": "120"}
    found = OtlpSender().send([Span(trace=1, id=2, parent=0, name="run", start=1, end=2, attributes={})])
    assert (found.accepted, found.refused, found.retry_after_s) == (False, False, 120.0)


async def test_what_a_process_did_not_send_the_next_one_does(bench: Bench, collector: OtlpCollector) -> None:
    async with exporting(bench.journal):
        await until(lambda: _has_cursor(bench))
    async with bench.driving():
        done = await bench.start("chatty")
        await bench.ended(done)
        asking, asked = await bench.asked("asker")
    assert collector.spans == []
    async with exporting(bench.journal):
        await until(lambda: any(not each.span.parent_span_id for each in collector.spans))
    async with bench.driving(), exporting(bench.journal):
        await bench.ended_by(asked, "input", value="me")
        await until(lambda: len([each for each in collector.spans if not each.span.parent_span_id]) == 2)
    wanted = await expected(bench.journal, done) | await expected(bench.journal, asking)
    assert Counter(got(collector.spans)) == dict.fromkeys(wanted, 1)


async def _has_cursor(bench: Bench) -> bool:
    return await read_cursor(bench.journal) is not None


async def test_switched_on_it_sends_runs_under_way_whole_and_none_that_had_ended(
    bench: Bench, collector: OtlpCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_export, "_JUST_NOW", timedelta(0))
    async with bench.driving():
        await bench.ended(await bench.start("chatty"))
        asking, asked = await bench.asked("asker")
        async with exporting(bench.journal):
            await until(lambda: "chat zoo/asker" in names(collector.spans))
            await bench.ended_by(asked, "input", value="me")
            await until(lambda: any(not each.span.parent_span_id for each in collector.spans))
    assert Counter(got(collector.spans)) == dict.fromkeys(await expected(bench.journal, asking), 1)


async def test_a_receiver_that_hangs_stops_neither_a_run_nor_the_runtime(
    bench: Bench, collector: OtlpCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_export, "FINISH_S", 0.05)
    collector.answering.clear()
    async with asyncio.timeout(60):
        async with bench.driving(traces=BARE):
            await bench.ended(await bench.start("chatty"))
            await asyncio.to_thread(collector.asked.acquire)
            await bench.ended(await bench.start("chatty"))
    assert collector.spans == []
    collector.answering.set()


async def test_no_answer_is_given_up_and_tried_again(bench: Bench, collector: OtlpCollector) -> None:
    collector.answering.clear()
    async with bench.driving(), exporting(bench.journal, send_limit_s=0.05) as export:
        run = await bench.start("chatty")
        await bench.ended(run)
        await until(lambda: _is_held_back(bench, "no answer within 0.05 s"))
        export._delivery._send_limit_s = 30.0
        collector.answering.set()
        wanted = await expected(bench.journal, run)
        await until(lambda: set(got(collector.spans)) == wanted)
        await until(lambda: not export._delivery.is_failing)


async def test_what_was_accepted_is_noted_before_metrics_are_sent(
    bench: Bench, collector: OtlpCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics, take = threading.Event(), collector.take

    def holding_metrics(path: str, body: bytes, headers: dict[str, str]) -> int:
        if path.endswith("/v1/metrics"):
            metrics.wait()
        return take(path, body, headers)

    monkeypatch.setattr(collector, "take", holding_metrics)
    async with bench.driving():
        run = await bench.start("chatty")
        await bench.ended(run)
    sent = await bench.journal.position()

    async def is_noted() -> bool:
        return (await read_cursor(bench.journal) or 0) >= sent

    try:
        async with exporting(bench.journal, send_limit_s=600.0):
            await until(is_noted)  # a process that dies now has nothing sent again
            metrics.set()
            await until(lambda: bool(collector.metrics))  # an end before would drop them
    finally:
        metrics.set()
    assert Counter(got(collector.spans)) == dict.fromkeys(await expected(bench.journal, run), 1)


@pytest.mark.parametrize("by_library", [False, True])
async def test_a_request_that_is_too_large_is_sent_in_parts(
    bench: Bench, collector: OtlpCollector, monkeypatch: pytest.MonkeyPatch, by_library: bool
) -> None:
    if by_library:  # which does not even send it
        monkeypatch.setattr(trace_exporter, "_DEFAULT_MAX_REQUEST_SIZE", 2_000)
    else:
        collector.largest = 3
    async with bench.driving():
        run = await bench.start("workflow")
        async with exporting(bench.journal):
            await until(lambda: _has_cursor(bench))
            await bench.ended(run)
            wanted = await expected(bench.journal, run)
            await until(lambda: set(got(collector.spans)) == wanted)
    assert Counter(got(collector.spans)) == dict.fromkeys(wanted, 1)


async def test_spans_that_a_receiver_rejects_of_a_request_are_told_once_and_not_sent_again(
    bench: Bench, collector: OtlpCollector, caplog: pytest.LogCaptureFixture
) -> None:
    answer = ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = 1
    answer.partial_success.error_message = "no room for spans of sk-ant-api03-abcdefghijklmnopqrstuvwxyz"
    collector.body = answer.SerializeToString()
    async with bench.driving(), exporting(bench.journal):
        run = await bench.start("plain")
        await bench.ended(run)
        wanted = await expected(bench.journal, run)
        await until(lambda: set(got(collector.spans)) >= wanted)
        await until(lambda: "took a request without 1 of its spans: no room for spans of " in caplog.text)
    assert Counter(got(collector.spans)) == dict.fromkeys(wanted, 1)
    assert "sk-ant" not in caplog.text


async def test_a_span_that_is_refused_for_good_is_named_and_left_out(
    bench: Bench, collector: OtlpCollector, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench.driving():
        await bench.ended(await bench.start("plain"))
        collector.status = 400
        async with exporting(bench.journal) as export:
            await until(lambda: _has_cursor(bench))
            await bench.ended(await bench.start("plain"))
            await until(lambda: caplog.text.count("which is left out") >= 3)
            await until(lambda: "invoke_workflow zoo.py:plain" in caplog.text)
            await until(lambda: not export._delivery.is_failing)


async def test_standard_variables_switch_it_off(
    bench: Bench, collector: OtlpCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    async with bench.driving(traces=BARE):
        await bench.ended(await bench.start("plain"))
    assert (collector.requests, await read_cursor(bench.journal)) == ([], None)
