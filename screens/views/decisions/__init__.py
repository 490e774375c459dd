"""What prompts and forms show and offer.

Imports `msgspec`, `runtime.judgement.comparison`, `runtime.judgement.forms`, `runtime.judgement.recovery`,
`runtime.judgement.reports.explanation`, `runtime.judgement.reports.priority`, `runtime.operations.requests`,
`runtime.record.state`, `screens.render` and `screens.views.*`.
"""
