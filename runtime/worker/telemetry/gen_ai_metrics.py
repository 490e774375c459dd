"""The GenAI client metrics: tokens and durations of model calls, over OTLP.

Counted when the receiver has accepted the spans, from the journal. They begin at zero with each process, as metrics of
any process do; calls that a process had sent but not noted when it died are counted by the next one as well.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from runtime.judgement.traces import conventions as c
from runtime.judgement.traces.span import Span
from runtime.worker.telemetry.receiver_session import receiver_session

_DEFAULT_INTERVAL_S = 60.0


class GenAiMetrics:
    """For one thread. The SDK's own timer is not used: a receiver that is down must not log every minute."""

    def __init__(self, resource: Resource) -> None:
        exporter = OTLPMetricExporter(session=receiver_session("METRICS"))
        reader = PeriodicExportingMetricReader(exporter, export_interval_millis=math.inf)
        off = AlwaysOffExemplarFilter()
        self._provider = MeterProvider([reader], resource, shutdown_on_exit=False, exemplar_filter=off)
        meter = self._provider.get_meter(c.SCOPE, schema_url=c.SCHEMA_URL)
        self._durations = meter.create_histogram(
            c.INFERENCE_DURATION,
            "s",
            "GenAI operation duration.",
            explicit_bucket_boundaries_advisory=c.DURATION_BOUNDS_S,
        )
        self._used = {
            attribute: meter.create_counter(name, "{token}", "The number of tokens used.")
            for name, attribute in c.USED_TOKENS.items()
        }
        self._tokens_of_a_call = {
            attribute: meter.create_histogram(
                name, "{token}", "Number of tokens of one call.", explicit_bucket_boundaries_advisory=c.TOKEN_BOUNDS
            )
            for name, attribute in c.TOKENS_OF_A_CALL.items()
        }
        self._sent_at = -math.inf
        self.changed = False
        """Whether something was counted that was not sent yet."""

    @property
    def is_due(self) -> bool:
        """Whether `OTEL_METRIC_EXPORT_INTERVAL` (milliseconds; a minute) has passed since they were sent."""
        given = os.environ.get("OTEL_METRIC_EXPORT_INTERVAL", "")
        interval_s = float(given) / 1_000 if given.isdigit() else _DEFAULT_INTERVAL_S
        return self.changed and time.monotonic() - self._sent_at >= interval_s

    def count(self, spans: Sequence[Span]) -> None:
        """Count the model calls among `spans`; of counters the sum, since each act of counting takes its time."""
        used: Counter[tuple[str, tuple[tuple[str, Any], ...]]] = Counter()
        for span in spans:
            if not span.facts or span.seconds is None:
                continue
            self.changed = True
            labels: dict[str, Any] = {key: value for key, value in span.facts.items() if "usage" not in key}
            self._durations.record(span.seconds, labels)
            labels.pop(c.ERROR_TYPE, None)
            for attribute, histogram in self._tokens_of_a_call.items():
                if isinstance(tokens := span.facts.get(attribute), int):
                    histogram.record(tokens, labels)
            same = tuple(labels.items())
            for attribute in self._used:
                if isinstance(tokens := span.facts.get(attribute), int):
                    used[attribute, same] += tokens
        for (attribute, same), tokens in used.items():
            self._used[attribute].add(tokens, {**dict(same), c.TOKEN_MODALITY: c.UNKNOWN_MODALITY})

    def send(self) -> None:
        """Send them. What the receiver does not take stays counted, and goes with the next."""
        self._sent_at, self.changed = time.monotonic(), False
        self._provider.force_flush()
