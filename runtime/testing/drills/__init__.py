"""Drills: a run with faults on purpose, and the account of what came of them.

Imports `orbiter`, `orbiter.models`, `orbiter.parsing`, `runtime.config`, `runtime.execution`, `runtime.judgement.*`,
`runtime.record.state`, `runtime.worker` and `pydantic`.
"""
