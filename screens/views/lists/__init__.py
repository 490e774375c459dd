"""The rows of each list.

Imports `runtime.operations.requests`, `orbiter.parsing`, `runtime.judgement.amounts`, `runtime.judgement.recovery`,
`runtime.judgement.reports`, `runtime.record.state`, `screens.render` and `screens.views.*`.
"""
