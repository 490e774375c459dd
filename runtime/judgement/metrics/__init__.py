"""Figures of a workspace for monitoring: a fold of events, and the text that Prometheus reads.

Imports `runtime.record.state`.
"""
