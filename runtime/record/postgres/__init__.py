"""The journal in a schema of a Postgres database.

Imports `orbiter`, `runtime.record`, `runtime.record.rules`, `runtime.record.state`, `msgspec` and
`psycopg`.
"""
