"""The rules of a journal that every store shares: rows, batches, writes and tails. No SQL.

One exception: `tails` still uses the watch of the SQLite file, until a store brings its own.

Imports `orbiter`, `runtime.record`, `runtime.record.state`, `runtime.record.sqlite.change_watch` and `pydantic_core`.
"""
