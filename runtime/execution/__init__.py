"""One run, executed durably: its session, its scopes, its steps with their attempts, and its incidents.

Imports `orbiter`, `orbiter._internal.user_code`, `orbiter.mcp`, `orbiter.redaction`, `runtime.execution.failures`,
`runtime.execution.gates`, `runtime.judgement.*`, `runtime.record`, `runtime.record.state`, `msgspec` and `pydantic`.
"""
