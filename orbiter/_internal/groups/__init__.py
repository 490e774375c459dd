"""Several agents as one: swarms, groups, teams and flows, and how their members run.

Imports `orbiter`, `orbiter._internal` and `orbiter._internal.loop`.
"""
