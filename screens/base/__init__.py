"""Base classes of screens, and the registry of the screens that have a key.

Imports `runtime.link.client`, `runtime.operations.requests`, `runtime.record.state`, `screens.dialogs`,
`screens.render`, `screens.shell`, `screens.views.*`, `screens.widgets`, `screens.widgets.prompts` and `textual`.
"""
