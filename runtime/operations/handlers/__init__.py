"""One handler for each request: it calls what has the logic, and makes the typed result.

Imports `msgspec`, `orbiter.redaction`, `runtime.execution.gates`, `runtime.config`, `runtime.execution`,
`runtime.judgement.*`, `runtime.operations`, `runtime.operations.requests`, `runtime.record`, `runtime.record.rules`,
`runtime.record.state`, `runtime.swarms` and `pydantic`.
"""
