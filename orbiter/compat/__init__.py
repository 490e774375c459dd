"""Names that only users of the seeds' programs need. The framework and the runtime do not use them.

Imports `orbiter`, `orbiter._internal.seam`.
"""
