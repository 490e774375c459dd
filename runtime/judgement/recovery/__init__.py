"""What can be done about a fault: retry, breaker, fallback, budget, compaction, and the options of an incident.

Imports `orbiter`, `orbiter.models`, `orbiter.parsing`, `orbiter.redaction`, `runtime.judgement.amounts`,
`runtime.judgement.comparison`, `runtime.judgement.forms`, `runtime.record.state`, `msgspec` and `pydantic`.
"""
