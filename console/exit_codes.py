"""Exit codes of the command line. 0: what was asked for is done."""

from __future__ import annotations

FAILED = 1
"""The run failed."""
BAD_INPUT = 2
"""What was asked cannot be done."""
WAITING = 3
"""A person has to decide."""
