"""The names by which a model knows the tools of a server: each tool has one, and no two of an agent have the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

MAX_NAME_CHARS = 64
"""Characters of a tool's name that every provider takes."""
_DIGEST_CHARS = 6

Owner = tuple[str, str]
"""A tool: its server's name, and its own there. Of a tool that is not of a server, the first is empty."""


def model_name(server: str, tool: str, between: str = "_") -> str:
    """The name by which a model knows a tool: the server's, then the tool's own, of which the end is always there."""
    whole = re.sub(r"[^A-Za-z0-9_-]", "_", f"{server}{between}{tool}")
    return whole[-MAX_NAME_CHARS:].lstrip("_-") or whole


def distinct_names(server: str, tools: Iterable[str], taken: Mapping[str, Owner] | None = None) -> dict[str, str]:
    """The name of each tool of a server, by the tool's own.

    It is ``server_tool``, else ``server__tool``, else one that ends with a part of a hash of the tool's own name. Where
    several tools would have one name, it is that of the tool whose own name it shows unchanged, else of the first.

    Args:
        server: The server's name.
        tools: The tools' own names.
        taken: Names that other tools of the agent have. A name that is taken by this very tool stays: the agent has
            it twice, and that is for its author.
    """
    used = dict(taken or {})
    found: dict[str, str] = {}
    asked = list(tools)
    for each in sorted(asked, key=lambda each: not model_name(server, each).endswith(f"_{each}")):
        owner = (server, each)
        named = next(name for name in _candidates(server, each) if used.get(name, owner) == owner)
        used[named] = owner
        found[each] = named
    return {each: found[each] for each in asked}


def _candidates(server: str, tool: str) -> Iterable[str]:
    yield model_name(server, tool)
    yield model_name(server, tool, "__")
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()
    for length in range(_DIGEST_CHARS, len(digest) + 1):
        end = f"_{digest[:length]}"
        yield model_name(server, tool)[: MAX_NAME_CHARS - len(end)] + end
