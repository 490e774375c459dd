"""The messages of the link, their framing, and the status of a link.

Imports `orbiter`, `runtime.record.state` and `pydantic`.
"""
