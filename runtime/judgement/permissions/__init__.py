"""What a step may do: needs, grants, rules, the ledger, and the preview of a grant.

Imports `orbiter`, `runtime.judgement.recovery.option_table`, `runtime.record.state`, `msgspec` and
`pydantic`.
"""
