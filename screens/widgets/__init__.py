"""Widgets: they paint views and send intents. They know neither journal nor socket.

Imports `runtime.judgement.recovery`, `runtime.record.state`, `screens.render`, `screens.shell`, `screens.views.*`,
`rich` and `textual`.
"""
