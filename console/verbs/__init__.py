"""The verbs of the command line: the common frame, and shell completion.

Imports `console.preferences`, `console`, `orbiter.redaction`, `orbiter`, `runtime.execution.view_redaction`,
`runtime.judgement.recovery`, `runtime.record.state`, `runtime.record`, `screens.render`,
`screens.shell` and `click`.
"""
