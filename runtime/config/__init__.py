"""`orbiter.toml` and the environment: schema, loading, and the line of each setting.

Imports `orbiter.redaction`, `orbiter`, `runtime.execution.execution_config`, `runtime.execution.view_redaction`,
`runtime.judgement.*`, `runtime.record.state` and `pydantic`.
"""
