"""Every act and question of an operator as a typed request with a typed result. Types only, and cheap to import.

Imports `runtime.judgement.comparison`, `runtime.judgement.permissions`, `runtime.judgement.recovery`,
`runtime.judgement.reports`, `runtime.record.listed`, `runtime.record.state` and `msgspec`. None of it loads
pydantic: a console has these types before its first frame.
"""
