"""What is compared is the one form of a host, an address and a path: found missing by mutation tests."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from runtime.judgement.permissions.canonical import (
    PATTERN_CHARS,
    PermissionSyntaxError,
    canonical_address,
    canonical_pattern,
    canonicalize,
)
from runtime.judgement.permissions.patterns import STANDARD_VERBS, Kind, grant_glob
from runtime.judgement.permissions.permission import Need, covers, grant_matches, needs_of
from runtime.judgement.permissions.shell_commands import MatchBudget
from runtime.record.state.events import GrantAdded


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://API.Example.com/a", "https://api.example.com/a"),
        ("https://me:word@API.example.com:8443/a?b=c", "https://me:word@api.example.com:8443/a?b=c"),
        ("https://a@b@API.example.com/", "https://a@b@api.example.com/"),
        ("API.example.com:443", "api.example.com:443"),
        ("API.example.com./a", "api.example.com/a"),
        ("http://[::FFFF:127.0.0.1]/", "http://127.0.0.1/"),
        ("//API.example.com/a", "//api.example.com/a"),
        ("https://API.example.com。/a", "https://api.example.com/a"),
    ],
)
def test_an_address_keeps_all_but_the_spelling_of_its_host(address: str, expected: str) -> None:
    assert canonical_address(address) == expected


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("https://a b/", "spaces, control characters or backslashes"),
        ("https://", "names no host"),
        ("https://.../", "names no host$"),
        ("https://a:0/", "the port 0"),
        ("https://a:x/", "names no host that can be checked"),
        ("https://a$b/", "characters that no host's name has"),
    ],
)
def test_an_address_that_cannot_be_checked_is_refused_with_the_reason(address: str, words: str) -> None:
    with pytest.raises(PermissionSyntaxError, match=words):
        canonical_address(address)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("", ""),
        ("**", "**"),
        ("*.Example.COM:443", "*.example.com:443"),
        ("*.Bücher.example", "*.xn--bcher-kva.example"),
        ("API*.example.com", "api*.example.com"),
        ("*.example.com.", "*.example.com"),
        ("Example.com.:443", "example.com:443"),
        ("[::0:1]:443", "[::1]:443"),
        ("API.EXAMPLE.MX:443", "api.example.mx:443"),
        ("X", "x"),
        ("BÜ*.example.org", "bü*.example.org"),
    ],
)
def test_a_pattern_of_hosts_is_written_as_hosts_are(pattern: str, expected: str) -> None:
    assert canonical_pattern("net", pattern, root="/") == expected


@pytest.mark.parametrize("pattern", ["a/b", "me@a", "a?b", "a#b", "a b", "[::1", "[::1]]"])
def test_a_pattern_that_matches_no_host_is_refused(pattern: str) -> None:
    with pytest.raises(PermissionSyntaxError, match="is not a host"):
        canonical_pattern("net", pattern, root="/")


def test_a_relative_path_is_one_of_the_workspace(tmp_path: Path) -> None:
    assert canonicalize("fs.write", "out/a.md", root=str(tmp_path)) == str(tmp_path.resolve() / "out" / "a.md")


def test_a_pattern_is_read_behind_the_links_of_its_folders(tmp_path: Path) -> None:
    """Else a link inside the workspace would lead a grant out of it."""
    (tmp_path / "data" / "real").mkdir(parents=True)
    (tmp_path / "data" / "linkX").symlink_to("real")
    real = tmp_path.resolve() / "data" / "real"
    assert canonical_pattern("fs.write", "data/linkX/a*", root=str(tmp_path)) == f"{real}/a*"
    (tmp_path / "X").mkdir()
    assert canonical_pattern("fs.write", "X/*", root=str(tmp_path)) == f"{tmp_path.resolve()}/X/*"


def test_a_pattern_may_have_as_many_characters_as_are_read() -> None:
    assert canonical_pattern("shell", "a" * PATTERN_CHARS, root="/") == "a" * PATTERN_CHARS
    with pytest.raises(PermissionSyntaxError, match=f"has {PATTERN_CHARS + 1:,} characters"):
        canonical_pattern("shell", "a" * (PATTERN_CHARS + 1), root="/")


def covered(pattern: str, target: str, verb: str, work: MatchBudget | None = None) -> bool:
    grant = msgspec.convert(
        {"grant_id": "g", "subject": "*", "verb": verb, "pattern": pattern, "lifetime": "always"}, GrantAdded
    )
    return covers(grant, Need(verb, target), agent="writer", run_id="r", ref="a:b", work=work)


def test_a_grant_is_read_by_the_class_of_its_verb() -> None:
    assert covered("/data/a.b*", "/data/a.bc.d", "fs.write"), "in a path a star ends at a slash alone"
    assert not covered("a*", "a.b", "agent.invoke"), "in a name it ends at a dot too"
    assert covered("git *", "git status", "shell")
    assert not covered("git *", "git status; rm -r /", "shell"), "a command is read as a shell reads it"


def test_what_a_grant_of_a_command_may_take_is_counted() -> None:
    work = MatchBudget()
    before = work.left
    assert covered("git *", "git status", "shell", work)
    assert work.left < before


def test_the_class_of_a_verb_is_that_of_its_first_part() -> None:
    assert STANDARD_VERBS.kind("fs.read.deep") is Kind.PATH
    assert STANDARD_VERBS.kind("agent.invoke") is Kind.NAME
    assert STANDARD_VERBS.kind("agent.other") is Kind.COMMAND


def test_two_stars_alone_cover_every_text() -> None:
    assert all(grant_glob("**", kind).matches("a\0b; c") for kind in Kind)


def test_two_stars_between_slashes_stand_for_any_folders_also_none() -> None:
    for target, expected in (
        ("/a/b", True),
        ("/a/x/b", True),
        ("/a/X/b", True),
        ("/a/x/y/b", True),
        ("/ab", False),
        ("/a/xb", False),
    ):
        assert grant_matches("/a/**/b", target, Kind.PATH) is expected, target


@pytest.mark.parametrize(("name", "words"), [("/etc", "begins with '/'"), ("~", "begins with '~'"), ("", "is empty")])
def test_a_value_that_could_lead_anywhere_is_refused_as_a_part_of_a_path(name: str, words: str) -> None:
    with pytest.raises(PermissionSyntaxError, match=words):
        needs_of(["fs.write:/srv/{name}"], {"name": name}, root="/")
    (need,) = needs_of(["fs.write:/srv/{name}"], {"name": "a.md"}, root="/")
    assert need.object == "/srv/a.md"
