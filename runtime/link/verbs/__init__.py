"""The verbs that a console may call, with their arguments. Each maps to an operation or a query.

Imports `runtime.config`, `runtime.daemon`, `runtime.execution.secret_vault`, `runtime.execution.gates`,
`runtime.judgement.*`, `runtime.operations`, `runtime.record`, `runtime.record.state`, `runtime.swarms` and
`pydantic`.
"""
