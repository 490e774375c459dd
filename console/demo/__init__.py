"""The demo: a real swarm over the current directory, whose faults are real too.

Imports `console`, `console.linear`, `orbiter`, `orbiter.models.scripted`, `runtime.record.state` and
`runtime.swarms`.
"""
