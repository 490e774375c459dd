"""The sender: spans in OpenTelemetry's own form, to the receiver that the standard `OTEL_*` variables name.

Everything here runs in the sending thread, and is imported with the first span.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Self

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # of the exporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from runtime.judgement.traces.conventions import FORK_OF, SCHEMA_URL, SCOPE
from runtime.judgement.traces.span import Span
from runtime.worker.telemetry.gen_ai_metrics import GenAiMetrics
from runtime.worker.telemetry.receiver_session import receiver_session

_KINDS = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
_REFUSALS = frozenset({400, 413, 422})
"""Answers that say that the request itself is wrong: it would be refused again."""
_TOO_LARGE_TO_SEND = "exceeds max_request_size"
"""What the library says of a request that it does not even send (64 MiB): it is sent in parts, as after 413."""
_STATUS = re.compile(r"code: (\d{3})")
"""In what the library logs, where a session of the user's own sends."""
_TRANSIENT = re.compile(r"Transient error (.{1,300}?) encountered", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Sent:
    """Whether the receiver accepted. `refused`: it never will; `reason`: what it, or the way there, said. `rejected`:
    how many spans of a request that it accepted it did not take, which must not be sent again (OTLP, partial success);
    `retry_after_s`: for how long it asks to be left alone.
    """

    accepted: bool
    refused: bool = False
    reason: str = ""
    rejected: int = 0
    retry_after_s: float = 0.0


class OtlpSender:
    """Speaks OTLP over HTTP with protobuf.

    Raises:
        Exception: whatever the library says of variables that it cannot use.
    """

    def __init__(self) -> None:
        service = {} if _names_service(os.environ) else {"service.name": SCOPE}
        resource = Resource.create({**service, "service.version": version("orbiter-console")})
        self._resource = resource
        self._scope = InstrumentationScope(SCOPE, version("orbiter-console"), SCHEMA_URL)
        self._session = receiver_session("TRACES")
        self._exporter = OTLPSpanExporter(session=self._session)
        self._heard = _Heard()
        self._metrics = None if os.environ.get("OTEL_METRICS_EXPORTER") == "none" else GenAiMetrics(resource)

    def send(self, spans: Sequence[Span]) -> Sent:
        """Send spans once; the library tries again for as long as `OTEL_EXPORTER_OTLP_TIMEOUT` says (10 s)."""
        if self._session is not None:
            self._session.forget()
        with self._heard as heard:
            result = self._exporter.export([self._readable(span) for span in spans])
        if result is SpanExportResult.SUCCESS:
            return self._accepted()
        if _TOO_LARGE_TO_SEND in heard.said:
            return Sent(False, refused=True, reason=heard.said)
        if self._session is not None and self._session.said:
            refused, waits_s = self._session.status in _REFUSALS, self._session.retry_after_s
            return Sent(False, refused, self._session.said, retry_after_s=waits_s)
        status = _STATUS.search(heard.said)
        return Sent(False, status is not None and int(status[1]) in _REFUSALS, heard.said or "not accepted")

    def _accepted(self) -> Sent:
        answer = ExportTraceServiceResponse()
        with suppress(DecodeError):  # a receiver that answers with something else has accepted
            answer.ParseFromString(self._session.body if self._session is not None else b"")
        return Sent(True, reason=answer.partial_success.error_message, rejected=answer.partial_success.rejected_spans)

    def count(self, spans: Sequence[Span]) -> str:
        """Count model calls in the metrics, and send these when they are due; what went wrong, if anything did."""
        if self._metrics is None:
            return ""
        self._metrics.count(spans)
        return self.send_metrics() if self._metrics.is_due else ""

    def send_metrics(self) -> str:
        """Send the metrics now; what went wrong, if anything did."""
        if self._metrics is None or not self._metrics.changed:
            return ""
        with self._heard as heard:
            self._metrics.send()
        return heard.said

    def close(self) -> None:
        """Let go of the connection. What is under way is given up."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # of the library

    def _readable(self, span: Span) -> ReadableSpan:
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace, span.id),
            parent=_context(span.trace, span.parent) if span.parent else None,
            resource=self._resource,
            attributes=span.attributes,
            events=[Event(each.name, dict(each.attributes), each.at) for each in span.events],
            links=[Link(_context(*span.link), {FORK_OF: span.attributes[FORK_OF]})] if span.link is not None else [],
            kind=_KINDS[span.kind],
            status=Status(StatusCode.ERROR, span.error) if span.failed else Status(),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=self._scope,
        )


def _context(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _names_service(environ: os._Environ[str]) -> bool:
    return bool(environ.get("OTEL_SERVICE_NAME")) or "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")


class _Heard(logging.Filter):
    """Keeps what the library logs in the sending thread: it becomes the reason in one line of ours.

    The library tells the cause of a failure nowhere else.
    """

    _LOGGERS = (
        "opentelemetry.exporter.otlp.proto.http.trace_exporter",
        "opentelemetry.exporter.otlp.proto.http.metric_exporter",
        "opentelemetry.exporter.otlp.common.http",
        "opentelemetry.sdk.metrics._internal.export",
    )

    def __init__(self) -> None:
        super().__init__()
        self.said = ""
        self._transient = ""
        self._thread = 0

    def filter(self, record: logging.LogRecord) -> bool:
        if threading.get_ident() != self._thread:
            return True
        transient = _TRANSIENT.match(said := record.getMessage())
        if transient is not None:
            self._transient = transient[1]
        self.said = f"{said} {self._transient}".rstrip()
        return False

    def __enter__(self) -> Self:
        self.said, self._transient, self._thread = "", "", threading.get_ident()
        for name in self._LOGGERS:
            logging.getLogger(name).addFilter(self)
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._LOGGERS:
            logging.getLogger(name).removeFilter(self)
