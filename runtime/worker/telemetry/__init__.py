"""Traces and metrics to an OTLP receiver, read from the journal: the cursor, the duty that sends, and the sender.

Imports `orbiter`, `runtime.execution`, `runtime.judgement.traces`, `runtime.record`, `runtime.record.state`,
`runtime.worker.duties`, `opentelemetry`, and of its exporter `google` and `requests`.
"""
