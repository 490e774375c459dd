"""JSON schemas: made from types, checked against values, and asked of a model.

Imports `orbiter`, `pydantic` and `typing_extensions`.
"""
