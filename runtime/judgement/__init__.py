"""What a fault means and what may be done about it. Pure: no I/O and no clock of its own.

Imports `runtime.judgement.faults.rules`, `runtime.judgement.recovery`, `runtime.record.state` and `pydantic`.
"""
