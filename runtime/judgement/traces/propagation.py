"""The trace context of a call: what a tool, a server or a library that it uses puts its own spans under.

Only with the package `opentelemetry-api`, which the extra `otel` brings, and MCP's SDK too: that sends the context to
servers as `traceparent` in the request's `_meta`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from runtime.judgement.traces import ids


@contextmanager
def call_context(run_id: str, path: str, attempt: int, rewinds: int) -> Iterator[None]:
    """What runs inside, in this task and in those that it makes, is below the span of the attempt.

    Args:
        run_id: The run.
        path: The step's path.
        attempt: The number of the attempt.
        rewinds: How often the run had been turned back before.
    """
    try:
        from opentelemetry import context, trace
    except ModuleNotFoundError:
        yield
        return
    span = trace.SpanContext(
        ids.trace_id(run_id),
        ids.attempt_span_id(run_id, path, attempt, rewinds),
        is_remote=False,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )
    token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(span)))
    try:
        yield
    finally:
        context.detach(token)
