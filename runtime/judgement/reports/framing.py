"""Frames around foreign text (of models, tools, providers) inside reports. Pure.

The frame is: behind the name of a section, then on lines that begin with four spaces, or in a fenced block of code.
No other line of a report holds foreign text. In Markdown the marks that could leave the frame when it is rendered
(links, HTML, bold names, open spans of code, forced line breaks) are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_ACTIVE = re.compile(
    r"""
      (?P<code>(?<![`\\])`[^`\n]+`(?!`))      # a span of code: stays
    | \\+(?=[`<*_(\[]|$)                      # would undo an escape of ours, or break the line
    | `                                       # opens a span that a section of ours would close
    | <(?=[A-Za-z/!?])                        # HTML, and links in angle brackets
    | (?<=\])[(\[]                            # the target of a link or an image
    | (?<![*])[*]{2,}                         # bold, as the names of our sections
    | (?<!_)__(?=[^_\n]{1,99}__) | (?<=:)__   # bold, too
    """,
    re.VERBOSE | re.MULTILINE,
)
"""What Markdown acts on inside a paragraph."""


def hanging_indent(text: str) -> str:
    """The text with four spaces before every line after the first."""
    return "\n    ".join(line.rstrip() for line in text.splitlines())


def escape_markdown(text: str) -> str:
    """The text with each active mark of Markdown escaped."""
    return _ACTIVE.sub(lambda found: found[0] if found["code"] else "".join(f"\\{each}" for each in found[0]), text)


def markdown_text(text: str) -> str:
    """The text for a paragraph of Markdown."""
    return escape_markdown(hanging_indent(text))


def fenced_block(text: str, kind: str = "") -> str:
    """The text as a fenced block of code that nothing in it can end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return "\n".join([f"{fence}{kind}", *text.splitlines(), fence])


def bullet_list(lines: Iterable[str]) -> str:
    """Several texts as a list below the name of its section."""
    return "".join(f"\n- {hanging_indent(line)}" for line in lines)
