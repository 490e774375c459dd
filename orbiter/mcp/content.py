"""The result of a call as content of a message: texts, images, sounds and resources, cleaned and within limits."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orbiter.mcp.foreign_text import clean_line, clean_text
from orbiter.types import AudioBlock, ContentBlock, DocumentBlock, ImageDataBlock, TextBlock, content_text

MAX_TEXT_CHARS = 200_000
"""Characters of all texts of a result."""
MAX_DATA_CHARS = 8_000_000
"""Characters, in base64, of one image, sound or document; a larger one is named and left out."""
MAX_BLOCKS = 200
_MIN_REPEATED_CHARS = 16
_TEXT_TYPE = re.compile(r"text/|(?:application|image)/(?:[\w.-]+\+)?(?:json|xml|yaml|toml)\b", re.IGNORECASE)
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What the providers take. With another one they refuse the whole request, and each that follows."""
_MEDIA_TYPES = {
    "": "image/png",
    "image/jpg": "image/jpeg",
    "image/x-png": "image/png",
    "application/x-pdf": "application/pdf",
}
"""Other names in use."""
_AUDIO_FORMATS = {"mpeg": "mp3", "x-mp3": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}(?:;[ -~]{0,200})?")


def result_blocks(result: Mapping[str, Any]) -> str | list[Any]:
    """The content of a result (`CallToolResult` as JSON): a text where there is nothing else, else blocks.

    Structured content is a text at the end, unless the parts before say the same: as servers are to repeat it.
    """
    given = [each for each in result.get("content") or () if isinstance(each, Mapping)]
    structured = result.get("structuredContent")
    if structured is not None and not _is_repeated(structured, given):
        text = json.dumps(structured, ensure_ascii=False)
        for data in filter(None, map(_data_of, given)):
            text = text.replace(data, "(the data of a part)") if len(data) >= _MIN_REPEATED_CHARS else text
        given = [*given[: MAX_BLOCKS - 1], {"type": "text", "text": text}]
    blocks: list[ContentBlock] = list(_bounded(_block(each) for each in given[:MAX_BLOCKS]))
    if len(given) > MAX_BLOCKS:
        blocks.append(TextBlock(text=f"[{len(given) - MAX_BLOCKS} more parts were left out]"))
    if all(isinstance(each, TextBlock) for each in blocks):
        return content_text(list(blocks))
    return list(blocks)


def _is_repeated(structured: Any, parts: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the parts say what the structured content says: as JSON, a value of it alone, or an item each."""
    values = [structured]
    if isinstance(structured, Mapping) and len(structured) == 1:  # how servers wrap what is not an object
        ((key, value),) = structured.items()
        if key == "result" or isinstance(value, str | list | Mapping):  # of a number the key says what it is
            values.append(value)
    data = {_data_of(each) for each in parts} - {""}
    if any(isinstance(each, Mapping) and each.get("data") in data for each in values):
        return True
    texts = [str(each.get("text", "")) for each in parts if each.get("type") == "text"]
    if sum(map(len, texts)) > MAX_TEXT_CHARS:
        return True  # there would be no room for it
    return any(
        any(_says(text, each) for text in texts)
        or (isinstance(each, list) and len(each) == len(texts) and all(map(_says, texts, each)))
        for each in values
    )


def _says(text: str, value: Any) -> bool:
    if text == value:
        return True
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return bool(found == value)


def _data_of(part: Mapping[str, Any]) -> str:
    resource = part.get("resource")
    found = resource.get("blob") if isinstance(resource, Mapping) else part.get("data")
    return found if isinstance(found, str) else ""


def _bounded(blocks: Iterable[ContentBlock]) -> Iterable[ContentBlock]:
    left, left_out = MAX_TEXT_CHARS, 0
    for block in blocks:
        if not isinstance(block, TextBlock):
            yield block
            continue
        if left <= 0:
            left_out += 1
            continue
        yield TextBlock(text=clean_text(block.text, left))
        left -= len(block.text)
    if left_out:
        yield TextBlock(text=f"[{left_out} more texts were left out: too long]")


def _block(part: Mapping[str, Any]) -> ContentBlock:
    kind = part.get("type")
    if kind == "text":
        return TextBlock(text=str(part.get("text", "")))
    if kind in ("image", "audio"):
        data, media_type = str(part.get("data", "")), clean_line(part.get("mimeType"))
        text = _text_in(data) if _TEXT_TYPE.match(media_type) else None
        return TextBlock(text=text) if text is not None else _data(data, media_type, str(kind))
    if kind == "resource":
        return _resource(part.get("resource") or {})
    if kind == "resource_link":
        named = (clean_line(part.get("title") or part.get("name")), clean_line(part.get("description"), 500))
        said = ", ".join(filter(None, named))
        return TextBlock(text=f"[resource {clean_line(part.get('uri'), 2_000)}{said and f': {said}'}]")
    return TextBlock(text=f"[a part of the kind {clean_line(kind, 60)!r}, which cannot be shown]")


def _resource(resource: Mapping[str, Any]) -> ContentBlock:
    uri, media_type = clean_line(resource.get("uri"), 2_000), clean_line(resource.get("mimeType"))
    if isinstance(resource.get("text"), str):
        return TextBlock(text=f"[resource {uri}]\n{resource['text']}")
    kind = media_type.partition("/")[0]
    if _TEXT_TYPE.match(media_type) and (text := _text_in(str(resource.get("blob", "")))) is not None:
        return TextBlock(text=f"[resource {uri}]\n{text}")
    return _data(str(resource.get("blob", "")), media_type, kind if kind in ("image", "audio") else "document", uri)


def _text_in(data: str) -> str | None:
    """The text that a blob holds; None where it is too large, or not a text. Providers take no such documents."""
    try:
        return b64decode(data, validate=True).decode() if 0 < len(data) <= MAX_DATA_CHARS else None
    except ValueError:
        return None


def _is_base64(data: str) -> bool:
    try:
        return bool(b64decode(data, validate=True))
    except ValueError:
        return False


def _data(data: str, media_type: str, kind: str, title: str = "") -> ContentBlock:
    if len(data) > MAX_DATA_CHARS or not data.isascii():
        return TextBlock(text=f"[{kind} {title} {media_type} of {len(data)} characters in base64: left out, too large]")
    if not _is_base64(data) or (media_type and not _MEDIA_TYPE.fullmatch(media_type)):
        # A provider refuses the whole request with it.
        return TextBlock(text=f"[{kind} {title} {media_type}: left out, it is not valid]")
    plain = media_type.partition(";")[0].strip().lower()
    if kind == "audio":
        said = plain.partition("/")[2] or "wav"
        return AudioBlock(data=data, format=_AUDIO_FORMATS.get(said, said))
    plain = _MEDIA_TYPES.get(plain, plain)
    if kind == "image" and plain in _IMAGES:
        return ImageDataBlock(data=data, media_type=plain)
    if kind == "document" and plain == "application/pdf":
        return DocumentBlock(data=data, media_type=plain, title=title)
    return TextBlock(text=f"[{kind} {title} {media_type} of {len(data)} characters in base64: models take none such]")
