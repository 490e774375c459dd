"""What screens show, as pure functions of state: no Textual, no journal, no clock of their own.

A view takes state and the time and gives rows or lines of `screens.layout`, cleaned by the gate of `screens.text`.
The linear mode prints the same views.
"""
