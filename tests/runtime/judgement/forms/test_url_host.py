"""The host that is shown of an address: the one that a browser would ask."""

from __future__ import annotations

import pytest

from runtime.judgement.forms.url_host import url_host


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://login.example.com/a?b=c", "login.example.com"),
        ("https://login.example.com@evil.example/a", "evil.example"),
        ("https://user:word@LOGIN.example.com:8443/", "login.example.com"),
        ("http://[::1]:8080/", "::1"),
        ("http://[::1/", ""),
        ("mailto:ann@example.com", ""),
        ("", ""),
    ],
)
def test_what_stands_before_an_at_sign_is_not_the_host(url: str, host: str) -> None:
    assert url_host(url) == host
