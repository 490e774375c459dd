"""Spans of a run: a pure fold of its events, in the words of OpenTelemetry and of the services that receive them.

Imports `orbiter`, `orbiter.redaction`, `runtime.judgement.faults`, `runtime.judgement.reports`,
`runtime.record.state` and `opentelemetry`.
"""
