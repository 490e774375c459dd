"""The prompt, where an operator decides, and its parts: choices, what the marked one will do, the field of an answer.

Imports `runtime.judgement.forms`, `runtime.judgement.recovery`, `runtime.judgement.reports.explanation`,
`runtime.record.state`, `screens.render`, `screens.shell`, `screens.views.*`, `screens.widgets`,
`screens.widgets.forms`, `msgspec` and `textual`.
"""
