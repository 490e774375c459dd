"""The error of what asks for a runtime in the background."""

from __future__ import annotations


class DaemonError(OSError):
    """The runtime cannot be started, asked or stopped. The message has the reason, and the end of its log."""
