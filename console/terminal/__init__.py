"""The terminal itself: the driver, escape sequences, and each patch of Textual.

Imports `screens.render`, `screens.shell`, `rich` and `textual`.
"""
