"""The verbs of the command line: the common frame, and shell completion.

Imports `runtime.operations`, `runtime.operations.requests`, `runtime.daemon`, `console.preferences`, `console`,
`orbiter.redaction`, `orbiter`, `runtime.execution.view_redaction`, `runtime.judgement.recovery`,
`runtime.record.state`, `runtime.record`, `screens.render`, `screens.shell` and `click`.
"""
