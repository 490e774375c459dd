"""The serving end: connections, the projection of the workspace, and the handling of commands.

Imports `orbiter`, `runtime.daemon`, `runtime.execution.view_redaction`, `runtime.judgement.reports.priority`,
`runtime.link.wire`, `runtime.operations`, `runtime.operations.requests`, `runtime.record.state`, `runtime.record`
and `msgspec`.
"""
