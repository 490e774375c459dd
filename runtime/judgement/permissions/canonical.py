"""The canonical form of the objects of permissions, and of the patterns that they are compared with.

Real paths after symlinks, hosts after parsing, in lower case, with their port: what will be used, never the text that a
model wrote. Pure but for looking up where symlinks point.
"""

from __future__ import annotations

import re
import socket
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from orbiter.errors import OrbiterError
from runtime.judgement.permissions.patterns import STANDARD_VERBS, Kind, Verbs

PATTERN_CHARS: Final = 4_096
"""The longest pattern that is read."""


class PermissionSyntaxError(OrbiterError):
    """A tool's permission cannot be read or filled in from its arguments."""


def canonicalize(verb: str, target: str, *, root: str, verbs: Verbs = STANDARD_VERBS) -> str:
    """The object of a need as it will really be touched. Relative paths are of `root`, the workspace."""
    return canonical_object(verbs.kind(verb), target, root)


def canonical_object(kind: Kind, target: str, root: str) -> str:
    """As `canonicalize`, for an object of a kind."""
    if kind is Kind.PATH:
        return canonical_path(target, root)
    return _host(target)[0] if kind is Kind.URL else target


def canonical_pattern(verb: str, pattern: str, *, root: str, verbs: Verbs = STANDARD_VERBS) -> str:
    """A pattern as it is compared: for paths, the part before the first star is absolute and real, as objects are.

    Raises:
        PermissionSyntaxError: it can match nothing, or its end climbs out of its beginning.
    """
    kind = verbs.kind(verb)
    if len(pattern) > PATTERN_CHARS:
        raise PermissionSyntaxError(f"the pattern has {len(pattern):,} characters: at most {PATTERN_CHARS:,} are read")
    if kind is Kind.URL:
        return _host_pattern(pattern)
    if kind is not Kind.PATH or not pattern or pattern == "**":
        return pattern
    literal, star, rest = pattern.partition("*")
    if not star:
        return canonical_path(pattern, root)
    if ".." in rest.split("/"):
        raise PermissionSyntaxError(
            f"the pattern {pattern!r} has '..' after a star: write the directory that it means instead"
        )
    folder, _, stem = literal.rpartition("/")
    base = canonical_path(folder or ("/" if literal.startswith("/") else "."), root)
    return f"{base.rstrip('/')}/{stem}{star}{rest}"


def _host_pattern(pattern: str) -> str:
    """Hosts as `_host` gives them, but for the stars.

    Raises:
        PermissionSyntaxError: it is an address, which no host's name ever equals.
    """
    if pattern in ("", "**"):
        return pattern
    if _UNREADABLE.search(pattern) or set(pattern) & set("/@?#"):
        raise PermissionSyntaxError(f"the pattern {pattern!r} is not a host: write api.example.com:443")
    if pattern.startswith("["):
        host, closed, port = pattern.rpartition("]")
        try:
            return f"[{IPv6Address(host[1:] if closed else pattern)}]{port}"
        except ValueError as exc:
            raise PermissionSyntaxError(f"the pattern {pattern!r} is not a host: {exc}") from exc
    host, colon, port = pattern.partition(":")
    try:
        host = ".".join(map(_label, host.split("."))).rstrip(".") if "*" in host else _name(host)
    except (UnicodeError, ValueError, OSError) as exc:
        raise PermissionSyntaxError(f"the pattern {pattern!r} is not a host: {exc}") from exc
    return f"{host}{colon}{port}"


def _label(label: str) -> str:
    return label.lower() if "*" in label or not label else label.encode("idna").decode("ascii").lower()


def canonical_path(target: str, root: str) -> str:
    """A path after symlinks; relative ones are of `root`."""
    try:
        return str(Path(root, target).resolve())
    except (OSError, RuntimeError, ValueError) as exc:
        raise PermissionSyntaxError(f"{target!r} names no place that can be checked: {exc}") from exc


_UNREADABLE = re.compile(r"[\x00-\x20\x7f\\\s]")
"""In an address: what one reader takes for its end and another does not."""


def canonical_address(target: str) -> str:
    """An address with its host in the form that is compared."""
    return _host(target)[1]


def _host(target: str) -> tuple[str, str]:
    """``host:port`` as it is compared, and the address itself with that host in it."""
    if _UNREADABLE.search(target):
        raise PermissionSyntaxError(
            f"{target!r} is not a valid address: it has spaces, control characters or backslashes"
        )
    bare = "//" not in target
    try:
        parts = urlsplit(f"//{target}" if bare else target)
        host = _name(parts.hostname or "")
        port = parts.port
    except (UnicodeError, ValueError, OSError) as exc:
        raise PermissionSyntaxError(f"{target!r} names no host that can be checked: {exc}") from exc
    if not host:
        raise PermissionSyntaxError(f"{target!r} names no host")
    if port == 0:
        raise PermissionSyntaxError(f"{target!r} has the port 0, which some readers take for the port of the scheme")
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
