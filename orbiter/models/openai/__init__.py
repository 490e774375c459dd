"""`openai:` and each endpoint that speaks its Chat Completions or Responses API.

Imports `orbiter`, `orbiter.models`, `openai`, `pydantic` and `pydantic_core`.
"""
