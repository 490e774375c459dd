"""Screens over another screen: prompts, confirmations, forms, the palette, help.

Imports `msgspec`, `runtime.judgement.recovery`, `runtime.link.client`, `runtime.operations.requests`,
`runtime.record.state`, `screens.base`, `screens.render`, `screens.shell`, `screens.views.*`, `screens.widgets` and
`textual`.
"""
