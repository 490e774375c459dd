"""Engines: they promise that a live process drives each run that can go on.

Imports `orbiter`, `runtime.execution`, `runtime.record`, `runtime.record.state`, `runtime.worker`, `dbos`, `msgspec`,
`psycopg` and `sqlalchemy`.
"""
