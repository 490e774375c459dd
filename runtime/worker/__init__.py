"""The process that drives runs: supervisor, driving thread, leases, watchdog.

Imports `orbiter`, `orbiter._internal.user_code`, `runtime.execution`, `runtime.execution.failures`,
`runtime.judgement.reports`, `runtime.record`, `runtime.record.state`, `runtime.swarms`,
`runtime.worker.duties` and `runtime.worker.engines`.
"""
