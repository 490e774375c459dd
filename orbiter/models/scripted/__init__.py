"""`scripted:`, replies from a file, and `script()`, a provider for tests with its replies and faults.

Imports `orbiter.models` and `orbiter.{config, types}`.
"""
