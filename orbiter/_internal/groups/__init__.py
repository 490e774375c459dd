"""How groups and swarms run: a container as one node of the run's tree, the modes of a swarm, and the members.

Imports `orbiter`, `orbiter._internal`, `orbiter._internal.declarations` and `orbiter._internal.loop`.
"""
