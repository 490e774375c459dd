"""A runtime as a whole: the served process, the embedded one, the viewer of an export.

Imports `orbiter`, `orbiter._internal`, `orbiter.models`, `runtime.*` and `pydantic`.
"""
