"""The seam between the framework and a runtime, in parts; `orbiter.steps` is where its names are imported from.

Imports `orbiter`.
"""
