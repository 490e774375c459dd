"""What happened: the port of the journal, the place of a workspace, and the lock of its driving process.

Imports `orbiter` and `runtime.record.state`.
"""
