"""The form of an answer: one entry for each field of its schema.

Imports `runtime.judgement.forms`, `screens.render`, `screens.shell`, `screens.views.*`, `screens.widgets` and
`textual`.
"""
