"""The messages of the link, their framing, and the status of a link.

Imports `orbiter`, `orbiter.parsing`, `runtime.record.inbox_row`, `runtime.record.state` and `msgspec`.
"""
