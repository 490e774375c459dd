"""What a run's page shows: tree, node, timeline, report, comparison.

Imports `runtime.judgement.comparison`, `runtime.judgement.recovery.option_table`, `runtime.judgement.recovery.options`,
`runtime.judgement.reports`, `runtime.judgement.reports.explanation`, `runtime.link.client`, `runtime.record.state`,
`screens.render`, `screens.views.*` and `msgspec`.
"""
