"""The journal in one SQLite file.

Imports `runtime.record`, `runtime.record.rules`, `runtime.record.state`, `aiosqlite` and `msgspec`.
"""
