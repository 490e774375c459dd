"""`anthropic:`, the Messages API.

Imports `orbiter`, `orbiter.models`, `orbiter.parsing`, `anthropic` and `pydantic`.
"""
