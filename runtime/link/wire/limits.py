"""Limits of what a console reads and keeps of one runtime.

The limits of a line and of a message are in `framing`; those of the other direction, what a runtime takes from a
console, are in `connection`, `outbox` and `server`. Sizes are bytes of the lines that were sent.
"""

from __future__ import annotations

from runtime.link.wire.framing import FramingError

MAX_PARTS_BYTES = 32 * 1024 * 1024
"""The messages that are being put together from parts."""
MAX_WORKSPACE_BYTES = 64 * 1024 * 1024
"""A snapshot of the picture; and all changes since, after which a fresh one is asked for."""
MAX_RUN_BYTES = 64 * 1024 * 1024
"""A snapshot of a watched run; and all events since, after which a fresh one is asked for."""
MAX_NODES = 200_000
"""Nodes of a watched run."""
MAX_TEXTS = 256
"""Replies that stream at the same time in a watched run."""
MAX_TEXT_CHARS = 1024 * 1024
"""One such reply. The rest is shown when the step has ended."""


class LimitExceeded(FramingError):
    """The runtime sends more than a console keeps."""


def format_mebibytes(size: int) -> str:
    return f"{size / (1024 * 1024):g} MiB"
