"""A grant, and a rule of the configuration, match nothing outside their words; what was checked is what is used."""

from __future__ import annotations

import os
import string
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from runtime.judgement.permissions.canonical import PermissionSyntaxError, canonical_pattern, canonicalize
from runtime.judgement.permissions.patterns import Kind
from runtime.judgement.permissions.permission import (
    Need,
    canonical_arguments,
    grant_matches,
    needs_of,
)
from runtime.judgement.permissions.policy import PermissionPolicy

NAMES = ["a", "b", "..", ".", "link", "out", "A", "é", "e\u0301", "\u202e", "a b", "*", "%2e%2e", "…"]
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=7).map("/".join)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A granted folder with links out of it and back into it."""
    root = tmp_path_factory.mktemp("tree")
    (root / "in" / "a" / "b").mkdir(parents=True)
    (root / "out" / "a").mkdir(parents=True)
    (root / "in" / "link").symlink_to(root / "out")
    (root / "in" / "a" / "link").symlink_to("..")
    (root / "out" / "link").symlink_to(root / "in")
    (root / "in" / "out").symlink_to("/")
    return root


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=400)
@given(path=paths)
def test_no_path_leads_out_of_a_granted_folder(tree: Path, path: str) -> None:
    (need,) = needs_of(["fs.write:{path}"], {"path": f"in/{path}"}, root=str(tree))
    real = os.path.realpath(tree / "in" / path)
    assert need.object == real
    assert grant_matches(f"{tree}/in/**", need.object, Kind.PATH) == real.startswith(f"{tree}/in/")
    used = canonical_arguments(["fs.write:{path}"], {"path": f"in/{path}", "n": 1}, root=str(tree))
    assert used == {"path": real, "n": 1}
    # Canonical is as canonical does: checked again, it is the same.
    assert needs_of(["fs.write:{path}"], used, root=str(tree)) == (need,)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(pattern=paths, path=paths)
def test_a_pattern_that_goes_through_a_link_is_no_wider_than_where_it_leads(
    tree: Path, pattern: str, path: str
) -> None:
    assume("*" not in pattern)
    literal = canonical_pattern("fs.write", f"in/{pattern}", root=str(tree))
    real = os.path.realpath(tree / "in" / path)
    assert grant_matches(literal, real, Kind.PATH) == (real == os.path.realpath(tree / "in" / pattern))


def test_a_pattern_may_not_climb_out_after_a_star(tmp_path: Path) -> None:
    with pytest.raises(PermissionSyntaxError, match=r"has '\.\.' after a star"):
        canonical_pattern("fs.write", "data/*/../../etc/**", root=str(tmp_path))
    assert canonical_pattern("fs.write", "data/a*/b", root=str(tmp_path)) == f"{tmp_path}/data/a*/b"
    assert canonical_pattern("fs.write", "**", root=str(tmp_path)) == "**"
    assert canonical_pattern("fs.write", "*.md", root=str(tmp_path)) == f"{tmp_path}/*.md"
    assert canonical_pattern("fs.write", "/**", root=str(tmp_path)) == "/**"


@given(st.text(min_size=1, max_size=12))
def test_letters_that_look_alike_are_not_alike(name: str) -> None:
    for other in (unicodedata.normalize("NFKC", name), name.swapcase(), f"{name}\u200b"):
        if other != name and "*" not in name:
            assert not grant_matches(f"/data/{name}", f"/data/{other}", Kind.PATH)


hosts = st.from_regex(r"[a-z][a-z0-9-]{0,8}(\.[a-z][a-z0-9]{0,5}){0,3}", fullmatch=True)


@given(hosts, hosts, st.none() | st.integers(1, 65535), st.sampled_from(["http", "https"]))
def test_a_host_is_matched_with_its_port_and_nothing_else(
    granted: str, asked: str, port: int | None, scheme: str
) -> None:
    url = f"{scheme}://{asked.upper()}{f':{port}' if port else ''}/path?x=1"
    (need,) = needs_of(["net:{url}"], {"url": url}, root=os.sep)
    known = port or {"https": 443, "http": 80}[scheme]
    assert need.object == f"{asked}:{known}"
    assert grant_matches(f"{granted}:443", need.object, Kind.URL) == (granted == asked and known == 443)
    used = canonical_arguments(["net:{url}"], {"url": url}, root=os.sep)
    assert needs_of(["net:{url}"], used, root=os.sep) == (need,)


@given(st.text(alphabet=string.printable + "é。．ß\u202e", max_size=30))
def test_any_text_is_an_address_in_one_form_or_none(text: str) -> None:
    try:
        found = canonicalize("net", text, root=os.sep)
    except PermissionSyntaxError:
        return
    assert found.isascii()
    assert not set(found) & set("/\\@ ?#")
    used = canonical_arguments(["net:{u}"], {"u": text}, root=os.sep)
    assert canonicalize("net", used["u"], root=os.sep) == found


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.1/", "127.0.0.1:80"),
        ("http://0x7f000001/", "127.0.0.1:80"),
        ("http://2130706433/", "127.0.0.1:80"),
        ("http://[::1]:8080/", "[::1]:8080"),
        ("http://[0:0:0:0:0:0:0:1]/", "[::1]:80"),
        ("https://bücher.example/", "xn--bcher-kva.example:443"),
        ("api.example.com", "api.example.com"),
        ("api.example.com:8443", "api.example.com:8443"),
        ("wss://api.example.com", "api.example.com:443"),
    ],
)
def test_an_address_has_one_form(url: str, expected: str) -> None:
    assert canonicalize("net", url, root=os.sep) == expected


@pytest.mark.parametrize(
    "url",
    [
        "https://good.example\\@evil.example/",
        "https://good.example /",
        "https://good.example\t.evil.example/",
        "http://:80/",
    ],
)
def test_an_address_that_readers_read_differently_is_refused(url: str) -> None:
    with pytest.raises(PermissionSyntaxError):
        canonicalize("net", url, root=os.sep)


def test_a_list_is_as_many_needs_and_a_default_counts() -> None:
    needs = needs_of(["fs.read:{paths}", "shell"], {"paths": ["/a", "/b", "/a"]}, root=os.sep)
    assert needs == (Need("fs.read", "/a"), Need("fs.read", "/b"), Need("shell"))
    assert needs_of(["fs.read:{path}"], {}, root=os.sep, defaults={"path": "/c"}) == (Need("fs.read", "/c"),)
    used = canonical_arguments(["fs.read:{paths}"], {"paths": ["x/../a"]}, root="/")
    assert used == {"paths": ["/a"]}
    for bad in (None, {"a": 1}):
        with pytest.raises(PermissionSyntaxError):
            needs_of(["fs.read:{path}"], {"path": bad}, root=os.sep)
    with pytest.raises(PermissionSyntaxError, match="names no place"):
        needs_of(["fs.read:{path}"], {"path": "a\0b"}, root=os.sep)


def test_what_an_argument_says_is_not_read_as_a_permission() -> None:
    (need,) = needs_of(["fs.read:{path}"], {"path": "{other}", "other": "/etc"}, root="/srv")
    assert need.object == "/srv/{other}"


# -- the configuration -------------------------------------------------------------------------------------------------


def policy(**lists: object) -> PermissionPolicy:
    return PermissionPolicy.from_mapping(lists, root="/srv")


def test_the_strictest_rule_that_fits_counts() -> None:
    rules = policy(
        allow=["fs.read:./**", "writer fs.write:data/**", "net:*.example.com:443"],
        ask=["fs.read:./secret/**"],
        deny=["shell", "fs.write:data/locked.md"],
    )
    for need, agent, expected in (
        (Need("fs.read", "/srv/a/b"), "anybody", "allow"),
        (Need("fs.read", "/srv/secret/b"), "anybody", "ask"),
        (Need("fs.read", "/etc/passwd"), "anybody", "ask"),
        (Need("fs.write", "/srv/data/x"), "writer", "allow"),
        (Need("fs.write", "/srv/data/x"), "reader", "ask"),
        (Need("fs.write", "/srv/data/locked.md"), "writer", "deny"),
        (Need("net", "api.example.com:443"), "a", "allow"),
        (Need("net", "api.example.com:80"), "a", "ask"),
        (Need("shell"), "a", "deny"),
        (Need("agent.invoke", "anybody"), "a", "allow"),
    ):
        assert rules.verdict(need, agent) == expected, need
    assert rules.verdict(Need("fs.read", "/etc/passwd"), "a", attended=False) == "deny"
    assert rules.verdict(Need("fs.read", "/srv/a"), "a", attended=False) == "allow"
    assert policy(default="allow").verdict(Need("anything"), "a") == "allow"
    assert policy(ask=["agent.invoke:boss"]).verdict(Need("agent.invoke", "boss"), "a") == "ask"


def test_a_subject_may_have_spaces_and_a_path_too() -> None:
    rules = policy(allow=["the writer fs.write:/my docs/**"])
    assert rules.verdict(Need("fs.write", "/my docs/a"), "the writer") == "allow"
    assert rules.verdict(Need("fs.write", "/my docs/a"), "writer") == "ask"


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ({"alow": []}, "no 'alow'"),
        ({"default": "maybe"}, "default is 'maybe'"),
        ({"allow": "shell"}, "allow is a list"),
        ({"deny": ["Shell Out"]}, "is not a rule"),
        ({"allow": ["fs.write:a/*/../b"]}, "has '..' after a star"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused_by_name(lists: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        policy(**lists)
