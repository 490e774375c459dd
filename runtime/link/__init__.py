"""The protocol between a runtime and its consoles, and both of its ends.

Imports nothing itself; each package in it says what it imports.
"""
