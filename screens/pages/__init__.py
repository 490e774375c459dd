"""The full screens, one module and one style sheet each.

Imports `runtime.judgement.recovery`, `runtime.judgement.reports`, `runtime.link.client`, `runtime.record.state`,
`screens.*` and `textual`.
"""
