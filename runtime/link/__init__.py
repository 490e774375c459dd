"""The protocol between a runtime and its consoles, and both of its ends.

Imports `runtime.service` in `serve` alone, a name that must stay; each package in it says what it imports.
"""
