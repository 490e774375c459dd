"""Content blocks: what a message may hold beside plain text."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from orbiter._internal.values.frozen import Frozen

__all__ = [
    "AudioBlock",
    "Content",
    "ContentBlock",
    "DocumentBlock",
    "ImageDataBlock",
    "ImageURLBlock",
    "TextBlock",
    "VideoBlock",
    "content_text",
]


class TextBlock(Frozen):
    """Text among other content."""

    type: Literal["text"] = "text"
    text: str


class ImageURLBlock(Frozen):
    """An image that the provider fetches."""

    type: Literal["image_url"] = "image_url"
    url: str
    detail: Literal["auto", "low", "high"] = "auto"


class ImageDataBlock(Frozen):
    """An image sent along, base64 without a ``data:`` prefix."""

    type: Literal["image_data"] = "image_data"
    data: str
    media_type: str = "image/png"


class AudioBlock(Frozen):
    """Sound, base64."""

    type: Literal["audio"] = "audio"
    data: str
    format: str = "wav"


class VideoBlock(Frozen):
    """A film: a URL or base64 data."""

    type: Literal["video"] = "video"
    url: str = ""
    data: str = ""
    media_type: str = "video/mp4"


class DocumentBlock(Frozen):
    """A document: a URL or base64 data."""

    type: Literal["document"] = "document"
    url: str = ""
    data: str = ""
    media_type: str = "application/pdf"
    title: str = ""


ContentBlock = Annotated[
    TextBlock | ImageURLBlock | ImageDataBlock | AudioBlock | VideoBlock | DocumentBlock, Field(discriminator="type")
]
# Left to right: text is by far the most common, and then no block is looked at.
Content = Annotated[str | list[ContentBlock], Field(union_mode="left_to_right")]


def content_text(content: str | list[Any]) -> str:
    """The text of a message's content; of blocks, the texts joined by line feeds and other kinds named in brackets."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text if isinstance(block, TextBlock) else f"[{block.type}]" for block in content)
