"""What happens when a step, a run or its process fails: policies, remedies, drafts of incidents, quarantine.

Imports `orbiter`, `orbiter._internal.user_code`, `runtime.execution`, `runtime.execution.gates`,
`runtime.judgement.*`, `runtime.record`, `runtime.record.state` and `msgspec`.
"""
