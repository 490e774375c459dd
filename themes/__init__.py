"""Looks only."""
