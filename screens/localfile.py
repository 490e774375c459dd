"""A file of the operator's own machine as an answer: read where the console is, wherever the runtime works."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Final

MOST: Final = 8 * 1024 * 1024
"""Bytes of a file that can be an answer: in base64 it still fits into one message of the link."""


def content(path: str, *, binary: bool, pipe: bool = False) -> str:
    """What stands in a file: text, or, `binary`, any bytes in base64. ``~`` is the operator's home. `pipe`: also what
    comes out of a pipe, for which the reader may have to wait.

    Raises:
        ValueError: there is no such file, it cannot be read, is too large or no text; the message says which.
    """
    if not path.strip():
        raise ValueError("the path of a file is needed here")
    try:
        file = Path(path.strip()).expanduser()
        if not (file.is_file() or (pipe and file.exists() and not file.is_dir())):
            raise ValueError(f"{path}: {'that is no file' if file.exists() else 'there is no such file here'}")
        with file.open("rb") as opened:
            raw = opened.read(MOST + 1)
        if len(raw) > MOST:
            raise ValueError(f"{path} is too large: an answer has {MOST // 2**20} MiB at most")
        return base64.b64encode(raw).decode() if binary else raw.decode()
    except UnicodeDecodeError as exc:
        raise ValueError(f"{path} is no text in UTF-8") from exc
    except (OSError, RuntimeError) as exc:  # RuntimeError: nobody's home
        raise ValueError(f"{path} cannot be read: {getattr(exc, 'strerror', None) or exc}") from exc
