"""What screens show, as pure functions of state: no Textual, no journal, no clock of their own.

A view takes state and the time and gives rows or lines of `screens.render.layout`, cleaned by the gate of
`screens.render.sanitize`. The linear mode prints the same views.

Imports nothing itself; each package in it says what it imports.
"""
