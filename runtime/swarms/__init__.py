"""From a reference to a swarm: discovery, import, and reload of changed files.

Imports `orbiter`, `orbiter.guests`, `orbiter.models`, `orbiter._internal.user_code`,
`orbiter._internal.worker_threads`, `runtime.judgement.reports` and `runtime.record.state`.
"""
