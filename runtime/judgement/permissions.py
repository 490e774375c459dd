"""Permissions: what a step needs, and whether a grant covers it. Pure but for looking up where symlinks point.

A need is ``verb:object`` (``fs.write:/data/out.md``, ``net:api.example.com:443``) or a bare verb (``shell``). A tool
names its needs with the arguments in braces, ``fs.write:{path}``. What is compared is the canonical form of what
will be executed (real paths after symlinks, lower-case host after parsing), never the text that a model wrote.

Patterns are literal but for ``*`` (anything within one path element or host label) and ``**`` (anything below).
A grant never matches outside its words. Permissions guard steps; they are no sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from orbiter.errors import OrbiterError
from runtime.record.events import GrantAdded


class PermissionSyntaxError(OrbiterError):
    """A tool's permission cannot be read or filled in from its arguments."""


@dataclass(slots=True, frozen=True)
class Need:
    """One canonical permission that a step needs before it may run."""

    verb: str
    object: str = ""

    def __str__(self) -> str:
        return f"{self.verb}:{self.object}" if self.object else self.verb


_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_VERB = re.compile(r"[a-z][a-z0-9_.-]*")


def needs_of(permissions: Iterable[str], arguments: Mapping[str, Any], *, root: str) -> tuple[Need, ...]:
    """What a call needs: each declared permission with the call's arguments put in, canonical.

    Raises:
        PermissionSyntaxError: the verb is no word, or a brace names an argument that the call does not have.
    """
    return tuple(_need(declared, arguments, root) for declared in permissions)


def _need(declared: str, arguments: Mapping[str, Any], root: str) -> Need:
    verb, _, target = declared.partition(":")
    if not _VERB.fullmatch(verb):
        raise PermissionSyntaxError(
            f"permission {declared!r} is not 'verb' or 'verb:object' with the verb in lower case"
        )

    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in arguments:
            raise PermissionSyntaxError(
                f"permission {declared!r} names {name!r}, an argument that the call does not have"
            )
        return str(arguments[name])

    return Need(verb, canonical(verb, _FIELD.sub(fill, target), root=root) if target else "")


def canonical(verb: str, target: str, *, root: str) -> str:
    """The object of a need as it will really be touched. Relative paths are of `root`, the workspace."""
    family = verb.partition(".")[0]
    if family == "fs":
        return str(Path(root, target).resolve())
    if family == "net":
        return _host(target)
    return target


def _host(target: str) -> str:
    try:
        parts = urlsplit(target if "//" in target else f"//{target}")
        host = (parts.hostname or "").rstrip(".").encode("idna").decode("ascii")
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except (UnicodeError, ValueError) as exc:
        raise PermissionSyntaxError(f"{target!r} names no host that can be checked: {exc}") from exc
    if not host:
        raise PermissionSyntaxError(f"{target!r} names no host")
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port}" if port else shown


def covers(grant: GrantAdded, need: Need, *, agent: str, run_id: str, ref: str) -> bool:
    """Whether `grant` lets `agent` of this run do what it needs."""
    if grant.verb != need.verb or grant.subject not in ("*", agent):
        return False
    if grant.lifetime == "run" and grant.scope != run_id:
        return False
    if grant.lifetime == "swarm" and grant.scope != ref:
        return False
    return matches(grant.pattern, need.object)


def matches(pattern: str, target: str) -> bool:
    """Whether a pattern covers a canonical object; the empty pattern covers only the empty object."""
    return _compiled(pattern).fullmatch(target) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    if pattern == "**":
        return re.compile(r".*", re.DOTALL)
    # Within a path an element ends at a slash; elsewhere (hosts) a label ends at a dot or before a port.
    wild = {"**": r"[^\0]*", "*": r"[^/\0]*" if "/" in pattern else r"[^/\0.:]*"}
    return re.compile("".join(wild.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*)", pattern)), re.DOTALL)
