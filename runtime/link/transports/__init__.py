"""Ways to a runtime: a Unix socket, a pair in this process, ssh; and the handshake on them.

Imports `runtime.config`, `runtime.daemon`, `runtime.link.wire`, `runtime.record.state` and `msgspec`.
"""
