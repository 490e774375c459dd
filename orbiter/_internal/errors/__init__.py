"""Every error of the framework, by family; `orbiter.errors` is where they are imported from.

Imports nothing.
"""
