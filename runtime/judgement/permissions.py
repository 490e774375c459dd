"""Permissions: what a step needs, and whether a grant covers it. Pure but for looking up where symlinks point.

A need is ``verb:object`` (``fs.write:/data/out.md``, ``net:api.example.com:443``) or a bare verb (``shell``). A tool
names its needs with the arguments in braces, ``fs.write:{path}``. What is compared is the canonical form of what
will be executed (real paths after symlinks, lower-case host after parsing), never the text that a model wrote.

Patterns are literal but for ``*`` (anything within one path element or host label) and ``**`` (anything below).
A grant never matches outside its words.

Permissions guard steps, they are no sandbox: code in a tool can do whatever its process can, and what was a folder when
it was checked may be a link a moment later.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

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


def needs_of(
    permissions: Iterable[str],
    arguments: Mapping[str, Any],
    *,
    root: str,
    defaults: Mapping[str, Any] | None = None,
) -> tuple[Need, ...]:
    """What a call needs: each declared permission with the call's arguments put in, canonical.

    A list in braces is as many needs. `defaults` are the values of arguments that the call leaves out.

    Raises:
        PermissionSyntaxError: the verb is no word, a brace names an argument that the call does not have, or what is
            put in names no object that can be checked.
    """
    values = {**(defaults or {}), **arguments}
    found: dict[Need, None] = {}
    for declared in permissions:
        found.update(dict.fromkeys(_needs(declared, values, root)))
    return tuple(found)


def canonical_arguments(
    permissions: Iterable[str], arguments: Mapping[str, Any], *, root: str, defaults: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The arguments as the tool gets them: one that stands alone for a path or host (``fs.read:{path}``, ``net:{url}``)
    is the canonical one, so that what was checked is what is used. Raises as `needs_of`.
    """
    values = {**(defaults or {}), **arguments}
    changed = dict(arguments)
    for declared in permissions:
        verb, target = _split(declared)
        only = _FIELD.fullmatch(target)
        if only is None or only.group(1) not in values or verb.partition(".")[0] not in ("fs", "net"):
            continue
        value = values[only.group(1)]
        made = (
            [_usable(verb, str(each), root) for each in value]
            if isinstance(value, list | tuple)
            else _usable(verb, str(value), root)
        )
        changed[only.group(1)] = made
    return changed


def _split(declared: str) -> tuple[str, str]:
    verb, _, target = declared.partition(":")
    if not _VERB.fullmatch(verb):
        raise PermissionSyntaxError(
            f"permission {declared!r} is not 'verb' or 'verb:object' with the verb in lower case"
        )
    return verb, target


def _needs(declared: str, values: Mapping[str, Any], root: str) -> Iterable[Need]:
    verb, target = _split(declared)
    if not target:
        return (Need(verb),)
    choices: list[list[str]] = []
    for name in _FIELD.findall(target):
        if name not in values:
            raise PermissionSyntaxError(
                f"permission {declared!r} names {name!r}, an argument that the call does not have"
            )
        value = values[name]
        if isinstance(value, Mapping) or value is None:
            kind = "nothing" if value is None else "an object"
            raise PermissionSyntaxError(f"permission {declared!r}: the argument {name!r} is {kind}, not a text")
        choices.append([str(each) for each in value] if isinstance(value, list | tuple | set) else [str(value)])
    return [Need(verb, canonical(verb, _filled(target, put), root=root)) for put in product(*choices)]


def _filled(target: str, put: Iterable[str]) -> str:
    values = iter(put)
    # By a function: what is put in must not be read as a template.
    return _FIELD.sub(lambda _: next(values), target)


def canonical(verb: str, target: str, *, root: str) -> str:
    """The object of a need as it will really be touched. Relative paths are of `root`, the workspace."""
    family = verb.partition(".")[0]
    if family == "fs":
        return _real(target, root)
    if family == "net":
        return _host(target)[0]
    return target


def canonical_pattern(verb: str, pattern: str, *, root: str) -> str:
    """A pattern as it is compared: for paths, the part before the first star is absolute and real, as objects are.

    Raises:
        PermissionSyntaxError: it can match nothing, or its end climbs out of its beginning.
    """
    family = verb.partition(".")[0]
    if family == "net":
        return pattern.lower()
    if family != "fs" or not pattern or pattern == "**":
        return pattern
    literal, star, rest = pattern.partition("*")
    if not star:
        return _real(pattern, root)
    if ".." in rest.split("/"):
        raise PermissionSyntaxError(f"the pattern {pattern!r} goes up again after a star: say where it may go instead")
    folder, _, stem = literal.rpartition("/")
    base = _real(folder or ("/" if literal.startswith("/") else "."), root)
    return f"{base.rstrip('/')}/{stem}{star}{rest}"


def _real(target: str, root: str) -> str:
    try:
        return str(Path(root, target).resolve())
    except (OSError, RuntimeError, ValueError) as exc:
        raise PermissionSyntaxError(f"{target!r} names no place that can be checked: {exc}") from exc


def _usable(verb: str, value: str, root: str) -> str:
    return _real(value, root) if verb.partition(".")[0] == "fs" else _host(value)[1]


_UNREADABLE = re.compile(r"[\x00-\x20\x7f\\\s]")
"""In an address: what one reader takes for its end and another does not."""


def _host(target: str) -> tuple[str, str]:
    """``host:port`` as it is compared, and the address itself with that host in it."""
    if _UNREADABLE.search(target):
        raise PermissionSyntaxError(f"{target!r} is no address: it has spaces, control characters or backslashes")
    bare = "//" not in target
    try:
        parts = urlsplit(f"//{target}" if bare else target)
        host = _name(parts.hostname or "")
        port = parts.port
    except (UnicodeError, ValueError, OSError) as exc:
        raise PermissionSyntaxError(f"{target!r} names no host that can be checked: {exc}") from exc
    if not host:
        raise PermissionSyntaxError(f"{target!r} names no host")
    shown = f"[{host}]" if ":" in host else host
    known = port or {"https": 443, "http": 80, "wss": 443, "ws": 80, "ftp": 21}.get(parts.scheme)
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    netloc = f"{user}{shown}{f':{port}' if port else ''}"
    address = urlunsplit(parts._replace(netloc=netloc))
    return (f"{shown}:{known}" if known else shown), (address.removeprefix("//") if bare else address)


def _name(host: str) -> str:
    """A host as every reader reads it: ASCII, without a last dot; an address in its one form."""
    # Dots of other scripts become dots only by encoding, so the last one goes after it, too.
    ascii_ = host.rstrip(".").encode("idna").decode("ascii").lower().rstrip(".") if host.strip(".") else ""
    try:
        return str(ip_address(ascii_))
    except ValueError:
        if _NUMERIC.fullmatch(ascii_):
            # 127.1, 0x7f000001 and the like: names to some, an address to the C library.
            return socket.inet_ntoa(socket.inet_aton(ascii_))
        if not _LABELS.fullmatch(ascii_):
            raise ValueError(f"{host!r} has characters that no host's name has") from None
        return ascii_


_LABELS = re.compile(r"[a-z0-9_.-]*")
_NUMERIC = re.compile(r"(?:0x[0-9a-f]+|[0-9]+)(?:\.(?:0x[0-9a-f]+|[0-9]+)){0,3}")


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
