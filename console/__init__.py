"""The command line and the app: wiring, settings, keys.

Imports `console.app`, `console.preferences`, `console.verbs.program.open_console`, `runtime.config`,
`runtime.daemon`, `runtime.execution.secret_vault`, `runtime.link.client`, `runtime.link.transports`,
`runtime.record.state`, `runtime.record.workspace_lock`, `runtime.service`, `runtime.worker.driving_thread`,
`screens.base`, `screens.render`, `screens.shell`, `themes`, `click`, `pydantic` and `rich`.
"""
