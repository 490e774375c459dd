"""`anthropic:`, the Messages API.

Imports `orbiter`, `orbiter._internal`, `orbiter.models`, `anthropic` and `pydantic`.
"""
