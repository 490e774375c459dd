"""Content blocks: what a message may hold beside plain text."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from orbiter._internal.values.frozen import Frozen


class TextBlock(Frozen):
    """Text among other content.

    Attributes:
        type: Always ``text``.
        text: The text.
    """

    type: Literal["text"] = "text"
    text: str


class ImageURLBlock(Frozen):
    """An image that the provider fetches.

    Attributes:
        type: Always ``image_url``.
        url: The image's address.
        detail: How closely the model looks.

    Examples:
        >>> from orbiter import UserMessage
        >>> from orbiter.types import ImageURLBlock, TextBlock
        >>> picture = ImageURLBlock(url="https://example.com/lamp.png")
        >>> [block.type for block in UserMessage(content=[TextBlock(text="What is this?"), picture]).content]
        ['text', 'image_url']
    """

    type: Literal["image_url"] = "image_url"
    url: str
    detail: Literal["auto", "low", "high"] = "auto"


class ImageDataBlock(Frozen):
    """An image sent along, base64 without a ``data:`` prefix.

    Attributes:
        type: Always ``image_data``.
        data: The image, base64.
        media_type: Its MIME type.
    """

    type: Literal["image_data"] = "image_data"
    data: str
    media_type: str = "image/png"


class AudioBlock(Frozen):
    """Sound, base64.

    Attributes:
        type: Always ``audio``.
        data: The sound, base64.
        format: ``wav`` or ``mp3``.
    """

    type: Literal["audio"] = "audio"
    data: str
    format: str = "wav"


class VideoBlock(Frozen):
    """A film: a URL or base64 data.

    Attributes:
        type: Always ``video``.
        url: The film's address; empty: `data` has it.
        data: The film, base64.
        media_type: Its MIME type.
    """

    type: Literal["video"] = "video"
    url: str = ""
    data: str = ""
    media_type: str = "video/mp4"


class DocumentBlock(Frozen):
    """A document: a URL or base64 data.

    Attributes:
        type: Always ``document``.
        url: The document's address; empty: `data` has it.
        data: The document, base64.
        media_type: Its MIME type.
        title: What it is called.
    """

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
    r"""The text of a message's content; of blocks, the texts joined by line feeds and other kinds named in brackets.

    Args:
        content: A message's content.

    Returns:
        The text.

    Examples:
        >>> from orbiter.types import ImageURLBlock, TextBlock, content_text
        >>> content_text([TextBlock(text="Look:"), ImageURLBlock(url="https://example.com/lamp.png")])
        'Look:\n[image_url]'
    """
    if isinstance(content, str):
        return content
    return "\n".join(block.text if isinstance(block, TextBlock) else f"[{block.type}]" for block in content)
