"""Work that is done once for a workspace beside its runs: analyses, notices, the index of searches, and partitions.

Imports `orbiter`, `orbiter.models`, `runtime.execution`, `runtime.execution.gates`, `runtime.judgement.*`,
`runtime.operations`, `runtime.record`, `runtime.record.rules`, `runtime.record.state`, `httpx` and `msgspec`.
"""
