"""What is checked before each attempt: freeze, breakpoint, permission, budget, breaker.

Imports `orbiter`, `orbiter._internal.user_code`, `runtime.execution`, `runtime.execution.failures`,
`runtime.judgement.*`, `runtime.record`, `runtime.record.state` and `msgspec`.
"""
