"""The background process of a workspace: start, stop, sockets, log file.

Imports `runtime.config`, `runtime.execution.secret_vault`, `runtime.operations.requests`, `runtime.record.state`,
`runtime.record` and `msgspec`.
"""
