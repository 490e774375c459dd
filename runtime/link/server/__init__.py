"""The serving end: connections, the projection of the workspace, and the handling of commands.

Imports `orbiter`, `runtime.daemon`, `runtime.execution.view_redaction`, `runtime.link.verbs`, `runtime.link.wire`,
`runtime.record.state`, `runtime.record` and `pydantic`.
"""
