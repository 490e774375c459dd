"""`anthropic:`, the Messages API.

Imports `orbiter`, `orbiter.models`, `anthropic` and `pydantic`.
"""
