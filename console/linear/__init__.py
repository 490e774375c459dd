"""The linear mode: a run as lines or JSON, and its incidents answered line by line.

Imports `runtime.operations.requests`, `console`, `orbiter`, `runtime.judgement.comparison`, `runtime.judgement.forms`,
`runtime.judgement.recovery`, `runtime.judgement.reports`, `runtime.judgement.reports.explanation`,
`runtime.operations`, `runtime.record.state`, `runtime.record`, `screens.render`, `screens.shell`,
`screens.views.decisions`, `screens.views.shared` and `msgspec`.
"""
