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
from ipaddress import IPv6Address, ip_address
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
        texts = [_usable(verb, text, root) for text in _texts(declared, only.group(1), value)]
        changed[only.group(1)] = texts if isinstance(value, _SEVERAL) else texts[0]
    return changed


_SEVERAL = (list, tuple, set, frozenset)


def _texts(declared: str, name: str, value: Any) -> list[str]:
    """The texts that an argument puts into a permission.

    Raises:
        PermissionSyntaxError: it is, or holds, what is no text: nothing, an object, a list in a list.
    """
    found = list(value) if isinstance(value, _SEVERAL) else [value]
    for each in found:
        if each is None or isinstance(each, (Mapping, *_SEVERAL)):
            kind = "nothing" if each is None else "an object" if isinstance(each, Mapping) else "a list in a list"
            raise PermissionSyntaxError(f"permission {declared!r}: the argument {name!r} is {kind}, not a text")
    return [str(each) for each in found]


def _split(declared: str) -> tuple[str, str]:
    verb, _, target = declared.partition(":")
    if not _VERB.fullmatch(verb):
        raise PermissionSyntaxError(
            f"permission {declared!r} is not 'verb' or 'verb:object' with the verb in lower case"
        )
    if set(_FIELD.sub("", target)) & set("{}"):
        # Left as it stands it would be a name of its own, the same for every call.
        raise PermissionSyntaxError(f"permission {declared!r} has a brace that names no argument: write {{name}}")
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
        choices.append(_texts(declared, name, values[name]))
    if not all(choices):
        # An empty list names nothing, and may mean everything to the tool: what it needs is the verb, with no object.
        return (Need(verb),)
    return [Need(verb, canonical(verb, _filled(verb, target, put), root=root)) for put in product(*choices)]


def _filled(verb: str, target: str, put: Iterable[str]) -> str:
    values = iter(put)
    if verb.partition(".")[0] == "fs" and _FIELD.fullmatch(target) is None:
        values = iter([_part(target, value) for value in values])
    # By a function: what is put in must not be read as a template.
    return _FIELD.sub(lambda _: next(values), target)


def _part(target: str, value: str) -> str:
    """A value that is one part of a path. The tool gets it as it stands, so no reader may take it for a whole path.

    Raises:
        PermissionSyntaxError: it is empty, begins with a slash, or with a tilde.
    """
    if not value or value[0] in "/~":
        what = f"begins with {value[0]!r}" if value else "is empty"
        raise PermissionSyntaxError(f"{value!r} {what}: as a part of {target!r} it could lead anywhere")
    return value


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
        return _host_pattern(pattern)
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


def _host_pattern(pattern: str) -> str:
    """Hosts as `_host` gives them, but for the stars.

    Raises:
        PermissionSyntaxError: it is an address, which no host's name ever equals.
    """
    if pattern in ("", "**"):
        return pattern
    if _UNREADABLE.search(pattern) or set(pattern) & set("/@?#"):
        raise PermissionSyntaxError(f"the pattern {pattern!r} is no host: write host:port, as in api.example.com:443")
    if pattern.startswith("["):
        host, closed, port = pattern.rpartition("]")
        try:
            return f"[{IPv6Address(host[1:] if closed else pattern)}]{port}"
        except ValueError as exc:
            raise PermissionSyntaxError(f"the pattern {pattern!r} is no host: {exc}") from exc
    host, colon, port = pattern.partition(":")
    try:
        host = ".".join(map(_label, host.split("."))).rstrip(".") if "*" in host else _name(host)
    except (UnicodeError, ValueError, OSError) as exc:
        raise PermissionSyntaxError(f"the pattern {pattern!r} is no host: {exc}") from exc
    return f"{host}{colon}{port}"


def _label(label: str) -> str:
    return label.lower() if "*" in label or not label else label.encode("idna").decode("ascii").lower()


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
    # Of a scheme whose port is not known here the name stands in its place: it is not the bare host.
    known: int | str = port or _PORTS.get(parts.scheme) or parts.scheme
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    netloc = f"{user}{shown}{f':{port}' if port else ''}"
    address = urlunsplit(parts._replace(netloc=netloc))
    return (f"{shown}:{known}" if known else shown), (address.removeprefix("//") if bare else address)


_PORTS = {"https": 443, "http": 80, "wss": 443, "ws": 80, "ftp": 21}


def _name(host: str) -> str:
    """A host as every reader reads it: ASCII, without a last dot; an address in its one form."""
    # Dots of other scripts become dots only by encoding, so the last one goes after it, too.
    ascii_ = host.rstrip(".").encode("idna").decode("ascii").lower().rstrip(".") if host.strip(".") else ""
    try:
        address = ip_address(ascii_)
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return str(mapped or address)
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
    if ".." in target.replace("\\", "/").split("/") and pattern not in (target, "**"):
        return False  # an object of a verb that is not known here: where it leads is not what its words begin with
    return _compiled(pattern).fullmatch(target) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    if pattern == "**":
        return re.compile(r".*", re.DOTALL)
    # Within a path an element ends at a slash; elsewhere a host's label ends at a dot or before a port, a command at
    # whatever begins another one.
    wild = {
        "/**/": r"/(?:[^\0]*/)?",
        "**": r"[^\0]*",
        "*": r"[^/\0]*" if "/" in pattern else r"[^/\0.:;&|<>$`()\r\n]*",
    }
    parts = re.split(r"(/\*\*/|\*\*|\*)", pattern)
    return re.compile("".join(wild.get(part, re.escape(part)) for part in parts), re.DOTALL)
