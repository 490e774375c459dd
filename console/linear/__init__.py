"""The linear mode: a run as lines or JSON, and its incidents answered line by line.

Imports `console`, `orbiter`, `runtime.judgement.recovery`, `runtime.judgement.reports`, `runtime.operations`,
`runtime.record.state`, `runtime.record`, `screens.render` and `screens.shell`.
"""
