"""The acts of an operator on runs and incidents, and the queries over the whole journal.

Imports `orbiter`, `orbiter.models`, `runtime.config`, `runtime.execution`, `runtime.execution.gates`,
`runtime.judgement.*`, `runtime.record`, `runtime.record.state` and `runtime.swarms`.
"""
