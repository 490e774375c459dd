"""The background process of a workspace: start, stop, sockets, log file.

Imports `runtime.config`, `runtime.execution.secret_vault` and `runtime.record`.
"""
