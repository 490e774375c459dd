"""A receiver of OTLP over HTTP on loopback: takes what an exporter sends, decoded with OpenTelemetry's own messages."""

from __future__ import annotations

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans


class Received(NamedTuple):
    """A span as it came: its message, its attributes as plain values, and what it came with."""

    span: Any
    attributes: dict[str, Any]
    resource: dict[str, Any]
    scope: Any
    schema_url: str


class OtlpCollector:
    """Accepts everything, but for what its switches say.

    Attributes:
        status: What is answered; 200 accepts.
        hanging: While it is not set, requests are left without an answer.
        body: What is answered, beside the status.
        answer_headers: Headers of each answer.
        largest: With how many spans a request is refused as too large; 0: none is.
    """

    def __init__(self, *, listening: bool = True) -> None:
        self.status = 200
        self.largest = 0
        self.body = b""
        self.answer_headers: dict[str, str] = {}
        self.answering = threading.Event()
        self.answering.set()
        self.asked = threading.Semaphore(0)
        self.requests: list[ExportTraceServiceRequest] = []
        self.metrics: list[ExportMetricsServiceRequest] = []
        self.headers: list[dict[str, str]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.asked.release()
                collector.answering.wait()
                status = collector.take(self.path, body, {key.lower(): value for key, value in self.headers.items()})
                self.send_response(status)
                for name, value in collector.answer_headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(collector.body)))
                self.end_headers()
                self.wfile.write(collector.body)

            def log_message(self, *_: object) -> None: ...

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """The process that asked was killed."""

        self._server = Server(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self._server.server_bind()  # a port that is bound and not listened to refuses connections, and stays ours
        self._listening = listening
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def take(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        """Take one request; the answer's status."""
        if self.status != 200:
            return self.status
        self.headers.append({"path": path, **headers})
        if path.endswith("/v1/metrics"):
            self.metrics.append(ExportMetricsServiceRequest.FromString(body))
            return 200
        found = ExportTraceServiceRequest.FromString(body)
        if (
            self.largest
            and sum(len(spans.spans) for each in found.resource_spans for spans in each.scope_spans) > self.largest
        ):
            return 413
        self.requests.append(found)
        return 200

    @property
    def url(self) -> str:
        """The base address, as `OTEL_EXPORTER_OTLP_ENDPOINT` has it."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def spans(self) -> list[Received]:
        """Every span that was accepted, as often as it was."""
        return [found for request in list(self.requests) for each in request.resource_spans for found in _spans(each)]

    def __enter__(self) -> Self:
        if self._listening:
            self.listen()
        return self

    def listen(self) -> None:
        """Take connections from now on."""
        self._server.server_activate()
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self.answering.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


def _spans(found: ResourceSpans) -> list[Received]:
    resource = plain(found.resource.attributes)
    return [
        Received(span, plain(span.attributes), resource, each.scope, each.schema_url)
        for each in found.scope_spans
        for span in each.spans
    ]


def plain(attributes: Any) -> dict[str, Any]:
    """Attributes as plain values, by key."""
    return {each.key: _value(each.value) for each in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_value(each) for each in value.array_value.values] if kind == "array_value" else getattr(value, kind)
