"""The console's end: requests, reconnection, and the views that are built from messages.

Imports `runtime.daemon`, `runtime.link.transports`, `runtime.link.wire`, `runtime.operations.requests`,
`runtime.record.inbox_row`, `runtime.record.state` and `msgspec`.
"""
