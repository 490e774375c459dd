"""What a fault means and what may be done about it. Pure: no I/O and no clock of its own.

Imports `orbiter`, `runtime.judgement.faults.rules`, `runtime.judgement.forms`, `runtime.judgement.recovery`,
`runtime.record.state`, `msgspec` and `pydantic`.
"""
