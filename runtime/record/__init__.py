"""What happened: the port of the journal, the place of a workspace, and the lock of its driving process.

Imports `orbiter`, `runtime.record.state`, `msgspec` and, to open a journal, `runtime.record.sqlite` and
`runtime.record.postgres`.
"""
