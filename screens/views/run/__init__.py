"""What a run's page shows: tree, node, timeline, report.

Imports `runtime.judgement.reports`, `runtime.link.client`, `runtime.record.state`, `screens.render` and
`screens.views.*`.
"""
