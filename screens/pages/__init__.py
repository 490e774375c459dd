"""The full screens, one style sheet each. The run page has its decision, its panes and its detail in modules beside it.

Imports `runtime.judgement.comparison`, `runtime.judgement.recovery`, `runtime.judgement.reports`,
`runtime.judgement.reports.explanation`, `runtime.link.client`, `runtime.operations.requests`, `runtime.record.state`,
`screens.*` and `textual`.
"""
