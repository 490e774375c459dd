"""The command line and the app: wiring, settings, keys."""
