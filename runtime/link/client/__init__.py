"""The console's end: requests, reconnection, and the views that are built from messages.

Imports `runtime.link.transports`, `runtime.link.wire`, `runtime.record.state` and `pydantic`.
"""
