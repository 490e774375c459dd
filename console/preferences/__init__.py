"""What an operator configures of the console: its settings and keys, and what it remembers.

Imports `console`, `orbiter`, `runtime.config`, `screens.render` and `screens.shell`.
"""
