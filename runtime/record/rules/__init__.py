"""The rules of a journal that every store shares: rows, batches, writes and tails. No SQL.

Imports `orbiter`, `runtime.record`, `runtime.record.state`, `msgspec` and `pydantic_core`.
"""
