"""What groups and swarms declare: their members, their flow and their policy for failures, checked when they are made.

Nothing here runs anything: `Container.run` looks up what does.

Imports `orbiter`, `orbiter._internal`, `orbiter._internal.groups`, `orbiter.parsing`, `pydantic` and `pydantic_core`.
"""
