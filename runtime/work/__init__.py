"""Doing it: the conductor, the desk of decisions, and whoever drives runs."""
