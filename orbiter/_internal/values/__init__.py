"""What passes between models, agents, tools and callers, by kind; `orbiter.types` is where its names are imported from.

Imports `pydantic` and `typing_extensions`.
"""
