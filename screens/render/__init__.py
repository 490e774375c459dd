"""Text to cells: layout, glyphs, sanitiser, number formats. No Textual widgets.

Imports `confusable_homoglyphs`, `rich`, `runtime.judgement.amounts` and `textual`.
"""
