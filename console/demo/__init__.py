"""The demo: a real swarm over the current directory, whose faults are real too.

Imports `console`, `console.linear`, `orbiter`, `orbiter.models.scripted` and `runtime.record.state`.
"""
