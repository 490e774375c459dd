"""One run of one agent: the tool loop, its model and tool steps, its record and its events.

Imports `orbiter`, `orbiter._internal`, `orbiter._internal.tools`, `orbiter._internal.values.field_check`,
`orbiter._internal.values.frozen`, `orbiter.models`, `pydantic` and `pydantic_core`.
"""
