"""Telling it: the protocol between a runtime and its consoles."""
