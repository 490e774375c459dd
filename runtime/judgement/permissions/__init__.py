"""What a step may do: needs, grants, rules, the ledger, and the preview of a grant.

Imports `orbiter`, `runtime.record.state` and `pydantic`.
"""
