"""What can be done about a fault: retry, breaker, fallback, budget, compaction, and the options of an incident.

Imports `orbiter`, `orbiter.redaction`, `runtime.record.state` and `pydantic`.
"""
