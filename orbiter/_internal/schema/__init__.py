"""JSON schemas: made from types, and checked against values.

Imports `orbiter`, `orbiter._internal`, `orbiter.parsing`, `docstring_parser`, `pydantic` and `typing_extensions`.
"""
