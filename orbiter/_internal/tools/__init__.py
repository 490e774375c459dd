"""What tools are declared with, what a call of one may know, and what becomes of its result.

Imports `orbiter`, `orbiter._internal`, `orbiter.parsing`, `pydantic` and `pydantic_core`.
"""
