"""Widgets that paint views and send intents."""
