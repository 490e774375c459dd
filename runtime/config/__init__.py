"""`orbiter.toml` and the environment: schema, loading, and the line of each setting.

Imports `orbiter.redaction`, `orbiter`, `orbiter.guests`, `orbiter.mcp`, `orbiter.parsing`,
`runtime.execution.execution_config`, `runtime.execution.view_redaction`, `runtime.judgement.*`, `runtime.record`,
`runtime.record.state`, `msgspec` and `pydantic`.
"""
