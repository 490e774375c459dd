"""Comparison of two runs: where they differ, by path, and where they first part.

Imports `orbiter.redaction`, `runtime.record.state` and `msgspec`.
"""
