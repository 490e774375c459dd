"""The host of an address that a person is asked to open: what stands before ``@`` in it is not one."""

from __future__ import annotations

from urllib.parse import urlsplit


def url_host(url: str) -> str:
    """The host that a browser would ask; empty where the address has none or cannot be read."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
