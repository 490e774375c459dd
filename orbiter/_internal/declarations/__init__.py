"""What groups and swarms declare: their members, their flow and their policy for failures, checked when they are made.

Nothing here runs anything: what runs it is `_internal.groups`, which a declaration's `run` looks up.

Imports `orbiter.{errors, policy, tool, steps, types}` and `_internal.graph`; never `_internal.loop`,
`_internal.groups` or `_internal.call_runner`.
"""
