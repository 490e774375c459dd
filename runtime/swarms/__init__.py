"""From a reference to a swarm: discovery, import, and reload of changed files.

Imports `orbiter`, `orbiter._internal.user_code`, `orbiter._internal.worker_threads` and `runtime.record.state`.
"""
