"""`scripted:`, a model whose replies are written in a file or in code: for tests, demos and drills.

Imports `orbiter`, `orbiter.models` and `yaml`.
"""
