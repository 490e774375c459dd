"""What `doctor` checks.

Imports `console`, `console.preferences`, `orbiter`, `orbiter.mcp`, `orbiter.models`, `runtime.config`,
`runtime.daemon`, `runtime.record`, `runtime.record.state`, `runtime.service`, `runtime.worker.engines`,
`runtime.worker.rescue`, `runtime.worker.telemetry`, `screens.render` and `themes`.
"""
