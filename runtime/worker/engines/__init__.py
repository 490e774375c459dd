"""Engines: they promise that a live process drives each run that was submitted.

Imports `runtime.worker`.
"""
