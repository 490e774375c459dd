"""Looks only: theme files, what their colours are for, and the loader.

Imports `textual` and `yaml`.
"""
