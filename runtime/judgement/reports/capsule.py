"""The capsule: an export file inside an HTML page, so that one file is read by people and by this program.

It stands in a ``<script>`` of a type that no browser carries out, compressed and in base64, which holds no character
that HTML gives a meaning to.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from typing import Final

CAPSULE_TYPE: Final = "application/jsonl+orbiter"
MAX_CAPSULE_BYTES: Final = 256 * 1024 * 1024
"""Bytes that a capsule may have once it is unpacked: a small file could otherwise fill the memory."""
_PAGE: Final = re.compile(r"\s*<!doctype html", re.IGNORECASE)
_BLOCK: Final = re.compile(rf'<script type="{re.escape(CAPSULE_TYPE)}"[^>]*>([A-Za-z0-9+/=\s]*)</script>')
_LINE: Final = 120


class InvalidCapsule(ValueError):
    """A page without a capsule, or with one that was cut or changed; the text says which."""


def is_page(text: str) -> bool:
    """Whether a file is an HTML page."""
    return _PAGE.match(text) is not None


def pack_capsule(export: str) -> str:
    """The text of an export file as what stands inside the capsule's element."""
    packed = base64.b64encode(zlib.compress(export.encode(), 9)).decode("ascii")
    return "\n".join(packed[at : at + _LINE] for at in range(0, len(packed), _LINE))


def unpack_capsule(page: str) -> str:
    """The text of the export file that a page holds.

    Raises:
        InvalidCapsule: the page has none, or it cannot be unpacked.
    """
    found = _BLOCK.search(page)
    if found is None:
        raise InvalidCapsule(
            "the page holds no export: was it made by 'orbiter-console export RUN --html FILE', and is it whole?"
        )
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(base64.b64decode(found.group(1)), MAX_CAPSULE_BYTES).decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError) as exc:
        raise InvalidCapsule("the export in the page was cut or changed") from exc
    if not unpacker.eof:
        raise InvalidCapsule(f"the export in the page was cut, or is larger than {MAX_CAPSULE_BYTES} bytes")
    return text
