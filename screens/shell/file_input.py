"""Files of the operator's machine as an answer."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Final

from orbiter.text_input import decode, read_bytes

MAX_FILE_BYTES: Final = 8 * 1024 * 1024
"""Bytes of a file that can be an answer: in base64 it still fits into one message of the link."""


def read_file_input(path: str, *, binary: bool, pipe: bool = False) -> str:
    """What stands in a file: text, or, `binary`, any bytes in base64. ``~`` is the operator's home. `pipe`: also what
    comes out of a pipe, for which the reader may have to wait.

    Raises:
        ValueError: the file is missing, cannot be read, is too large or is not text; the message says which.
    """
    if not path.strip():
        raise ValueError("the path of a file is needed here")
    try:
        file = Path(path.strip()).expanduser()
        if not file.exists():
            raise ValueError(f"{path}: no such file here")
        data = read_bytes(file, most=MAX_FILE_BYTES, pipe=pipe)
    except (OSError, RuntimeError) as exc:  # RuntimeError: the home directory of ~name is not known
        raise ValueError(f"{path} cannot be read: {getattr(exc, 'strerror', None) or exc}") from exc
    return base64.b64encode(data).decode() if binary else decode(data, str(file))
