"""Consoles far from their runtime, on a link that delays and drops."""
