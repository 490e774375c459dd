"""The rows of each list.

Imports `runtime.judgement.recovery`, `runtime.record.state`, `screens.render`, `screens.views.*` and `pydantic`.
"""
