"""Widgets: they paint views and send intents. They know neither journal nor socket.

Imports `runtime.judgement.forms`, `runtime.judgement.recovery`, `runtime.judgement.reports.explanation`,
`runtime.record.state`, `screens.render`, `screens.shell`, `screens.views.*`, `screens.widgets.forms`, `rich` and
`textual`.
"""
