"""Events, and the state that is folded from them. Pure: no I/O and no clock.

Imports `orbiter`, `msgspec` and `pydantic_core`.
"""
