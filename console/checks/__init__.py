"""What `doctor` checks.

Imports `console`, `console.preferences`, `orbiter`, `orbiter.models`, `runtime.config`, `runtime.daemon`,
`runtime.record`, `runtime.record.state`, `runtime.service`, `runtime.worker.rescue`,
`screens.render` and `themes`.
"""
