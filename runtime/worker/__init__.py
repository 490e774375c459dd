"""The process that drives runs: supervisor, driving thread, leases, watchdog.

Imports `orbiter`, `orbiter._internal.user_code`, `orbiter.models`, `runtime.config`, `runtime.execution`,
`runtime.execution.failures`, `runtime.judgement.faults`, `runtime.judgement.recovery.options`,
`runtime.judgement.reports`, `runtime.judgement.traces`, `runtime.record`, `runtime.record.state`, `runtime.swarms`,
`runtime.worker.duties`, `runtime.worker.engines` and `runtime.worker.telemetry`.
"""
