"""What tools are declared with, what a call of one may know, and what becomes of its result.

Imports `orbiter`, `orbiter._internal`, `orbiter._internal.values.field_check`, `orbiter.parsing`, `pydantic` and
`pydantic_core`.
"""
