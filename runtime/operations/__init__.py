"""The acts of an operator on runs and incidents, and the queries over the whole journal.

Imports `orbiter`, `orbiter.mcp`, `orbiter.models`, `orbiter.parsing`, `orbiter.redaction`, `runtime.config`,
`runtime.execution`, `runtime.execution.failures`, `runtime.execution.gates`, `runtime.judgement.*`,
`runtime.operations.*`, `runtime.record`, `runtime.record.state`, `runtime.swarms` and `msgspec`.
"""
