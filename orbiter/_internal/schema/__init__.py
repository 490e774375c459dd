"""JSON schemas: made from types, and checked against values.

Imports `orbiter`, `pydantic` and `typing_extensions`.
"""
