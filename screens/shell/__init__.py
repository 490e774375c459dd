"""What screens share with the app: context, messages, history, frame rate, external editor.

Imports `orbiter`, `runtime.judgement.recovery`, `runtime.judgement.reports.explanation`,
`runtime.judgement.reports.priority`, `runtime.link.client`, `runtime.link.wire`, `runtime.operations.requests`,
`runtime.record.state`, `screens.render`, `screens.views.*`, `screens`, `msgspec` and `textual`.
"""
