"""Requests and replies of HTTP that an exception holds: what code reads of them, as JSON and back.

Kept are the status, the headers and the body of a reply, and the method and the address of a request. Headers of a
request are not kept, nor cookies: they hold keys. It comes back as an object of its class where that is one of httpx's
making, else as an object with the same names.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from orbiter.guests.typed_values import loaded_class, name_of

_BODY_BYTES = 65_536
"""A longer body is not kept."""
_NOT_KEPT = frozenset({"set-cookie", "content-encoding", "content-length", "transfer-encoding"})
"""Headers that hold a key, or that are no longer true of a body that was read."""


class RecalledReply:
    """A reply of a class that cannot be made again here."""

    def __init__(self, status_code: int, headers: Mapping[str, str], content: bytes, request: Any) -> None:
        self.status_code = status_code
        self.headers = _Headers({name.lower(): value for name, value in headers.items()})
        self.content = content
        self.request = request

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body, which is JSON.

        Raises:
            ValueError: It is not.
        """
        import json

        return json.loads(self.content)


class RecalledRequest:
    """A request of a class that cannot be made again here."""

    def __init__(self, method: str, url: str) -> None:
        self.method = method
        self.url = url


class _Headers(dict[str, str]):
    """Names are looked up in any case."""

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.lower(), default)

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name.lower() if isinstance(name, str) else name)


def dump_reply(value: Any) -> dict[str, Any] | None:
    """A reply as JSON; None of everything else."""
    status, headers = _read(value, "status_code"), _read(value, "headers")
    if not isinstance(status, int) or not isinstance(headers, Mapping):
        return None
    kept = {str(name): str(each) for name, each in headers.items() if str(name).lower() not in _NOT_KEPT}
    content = _read(value, "content")
    body = b64encode(content).decode() if isinstance(content, bytes) and len(content) <= _BODY_BYTES else ""
    asked = dump_request(_read(value, "request"))
    return {"class": name_of(type(value)), "status": int(status), "headers": kept, "body": body, "request": asked}


def dump_request(value: Any) -> dict[str, Any] | None:
    """A request as JSON; None of everything else."""
    method, url = _read(value, "method"), _read(value, "url")
    if not isinstance(method, str) or url is None or callable(url):
        return None
    return {"class": name_of(type(value)), "method": method, "url": str(url)}


def load_reply(dumped: Mapping[str, Any]) -> Any:
    """The reply that `dump_reply` wrote."""
    content, asked = b64decode(dumped["body"]), dumped["request"]
    request = load_request(asked) if asked is not None else None
    found = loaded_class(dumped["class"])
    try:
        assert found is not None
        return found(dumped["status"], headers=dumped["headers"], content=content, request=request)
    except Exception:  # another library's reply is made in another way
        return RecalledReply(dumped["status"], dumped["headers"], content, request)


def load_request(dumped: Mapping[str, Any]) -> Any:
    """The request that `dump_request` wrote."""
    found = loaded_class(dumped["class"])
    try:
        assert found is not None
        return found(dumped["method"], dumped["url"])
    except Exception:
        return RecalledRequest(dumped["method"], dumped["url"])


def _read(value: Any, name: str) -> Any:
    """An attribute; None where reading it fails, as the body of a reply that was not read."""
    try:
        return getattr(value, name, None)
    except Exception:
        return None
