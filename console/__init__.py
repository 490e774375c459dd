"""The command line and the app: wiring, settings, keys.

Imports `msgspec`, `runtime.operations.requests`, `console.app`, `console.preferences`,
`console.verbs.program.open_console`, `orbiter.parsing`, `runtime.config`, `runtime.daemon`,
`runtime.execution.secret_vault`, `runtime.judgement.recovery.option_table`,
`runtime.judgement.reports.explanation.runtime_home`, `runtime.link.client`,
`runtime.link.transports`, `runtime.record`, `runtime.record.state`, `runtime.record.workspace_lock`,
`runtime.service`, `runtime.swarms`, `runtime.worker.driving_thread`, `screens.base`, `screens.render`,
`screens.shell`, `themes`, `click`, `pydantic` and `rich`.
"""
