"""Screens over another screen: prompts, confirmations, forms, the palette, help.

Imports `runtime.judgement.recovery`, `runtime.link.client`, `runtime.record.state`, `screens.base`, `screens.render`,
`screens.shell`, `screens.views.*`, `screens.widgets` and `textual`.
"""
