"""One run of one agent: the tool loop, its model and tool steps, its record and its events.

Imports the public modules of `orbiter`, `orbiter.models`, `_internal.schema` and the modules of `_internal`, but not
`call_runner` and not `_internal.groups`. `providers` looks `orbiter.runner` up.
"""
