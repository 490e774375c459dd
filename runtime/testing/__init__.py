"""A failure as a test: a recorded run is replayed against the code as it is now.

Imports `orbiter`, `runtime.config`, `runtime.execution`, `runtime.execution.failures`, `runtime.judgement.*`,
`runtime.operations`, `runtime.record`, `runtime.record.state`, `runtime.worker` and `pytest`.
"""
