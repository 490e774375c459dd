"""Looks only: theme files, what their colours are for, and the loader.

Imports `orbiter`, `orbiter.parsing`, `textual` and `yaml`.
"""
