"""What an operator configures of the console: its settings and keys, and what it remembers.

Imports `console`, `orbiter`, `orbiter.parsing`, `runtime.config`, `runtime.record`,
`screens.render`, `screens.shell` and `msgspec`.
"""
