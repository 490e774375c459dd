"""A grant matches nothing outside its words."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.judgement.permissions.canonical import PermissionSyntaxError, canonicalize
from runtime.judgement.permissions.patterns import Kind
from runtime.judgement.permissions.permission import (
    Need,
    covers,
    grant_matches,
    needs_of,
)
from runtime.record.state.events import GrantAdded


def grant(pattern: str, verb: str = "fs.write", **more: str) -> GrantAdded:
    return msgspec.convert(
        {"grant_id": "g", "subject": "*", "verb": verb, "pattern": pattern, "lifetime": "always", **more}, GrantAdded
    )


def covered(given_: GrantAdded, need: Need, agent: str = "writer") -> bool:
    return covers(given_, need, agent=agent, run_id="r1", ref="x:y")


@pytest.mark.parametrize(
    ("pattern", "target", "expected"),
    [
        ("/data/out.md", "/data/out.md", True),
        ("/data/out.md", "/data/out.mdx", False),
        ("/data/*", "/data/a.md", True),
        ("/data/*", "/data/sub/a.md", False),
        ("/data/**", "/data/sub/a.md", True),
        ("/data/**", "/database/a.md", False),
        ("/data/**", "/data", False),
        ("*.example.com:443", "api.example.com:443", True),
        ("*.example.com:443", "a.b.example.com:443", False),
        ("*.example.com:443", "api.example.com:80", False),
        ("example.com", "example.com.evil.org", False),
        ("", "", True),
        ("", "anything", False),
        ("**", "anything", True),
        ("/data/[ab]", "/data/a", False),
        ("/data/a?", "/data/ab", False),
    ],
)
def test_patterns_are_literal_but_for_stars(pattern: str, target: str, expected: bool) -> None:
    assert grant_matches(pattern, target, Kind.URL if "example" in pattern else Kind.PATH) is expected


@given(st.text(alphabet="ab/.*-é\u202e\n", max_size=12), st.text(alphabet="ab/.é\u202e\n", max_size=12))
def test_a_pattern_without_stars_matches_only_itself(pattern: str, target: str) -> None:
    if "*" not in pattern:
        assert grant_matches(pattern, target, Kind.PATH) == (pattern == target)


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_folder_pattern_never_reaches_outside_its_folder(inside: str, other: str) -> None:
    assert not grant_matches("/data/**", f"/{other}", Kind.PATH) or f"/{other}".startswith("/data/")
    assert grant_matches("/data/**", f"/data/{inside}", Kind.PATH) == ("\0" not in inside)


def test_what_is_matched_is_where_the_path_really_leads(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "data" / "link").symlink_to(tmp_path / "secret")
    allowed = grant(f"{tmp_path}/data/**")
    root = str(tmp_path)
    for text, expected in (
        ("data/report.md", True),
        ("data/../secret/x", False),
        ("data/link/x", False),
        ("./data/./sub/../report.md", True),
        (f"{tmp_path}/data/report.md", True),
        ("../data/report.md", False),
    ):
        (need,) = needs_of(["fs.write:{path}"], {"path": text}, root=root)
        assert covered(allowed, need) is expected, text


def test_hosts_are_compared_as_parsed() -> None:
    allowed = grant("api.example.com:443", verb="net")
    for text, expected in (
        ("https://api.example.com/v1", True),
        ("HTTPS://API.EXAMPLE.COM./v1", True),
        ("https://api.example.com:8443/", False),
        ("https://api.example.com@evil.org/", False),
        ("http://api.example.com/", False),
        ("https://api.example.com.evil.org/", False),
    ):
        (need,) = needs_of(["net:{url}"], {"url": text}, root=os.sep)
        assert covered(allowed, need) is expected, text


@pytest.mark.parametrize(
    "url", ["https://", "http://[::1", "https://host:99999/", "https://host:0/", "host:0", "http://[::1]:00/"]
)
def test_a_url_without_a_host_is_refused_not_guessed(url: str) -> None:
    with pytest.raises(PermissionSyntaxError):
        canonicalize("net", url, root=os.sep)


def test_subject_verb_and_lifetime_bind() -> None:
    need = Need("fs.write", "/data/a")
    assert not covered(grant("/data/a", verb="fs.read"), need)
    assert not covered(grant("/data/a", subject="other"), need)
    assert covered(grant("/data/a", subject="writer"), need)
    assert not covered(grant("/data/a", lifetime="run", scope="r2"), need)
    assert covered(grant("/data/a", lifetime="run", scope="r1"), need)
    assert not covered(grant("/data/a", lifetime="swarm", scope="z:z"), need)


def test_a_declaration_that_names_no_argument_is_an_error_that_says_so() -> None:
    with pytest.raises(PermissionSyntaxError, match="names 'file'"):
        needs_of(["fs.write:{file}"], {"path": "x"}, root=os.sep)
    with pytest.raises(PermissionSyntaxError, match="is not 'verb'"):
        needs_of(["Write Files:{path}"], {"path": "x"}, root=os.sep)
