"""What an attacker would try who wants more than was granted, each as a row or a property."""

from __future__ import annotations

import os
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.judgement.permissions.canonical import PermissionSyntaxError, canonical_pattern, canonicalize
from runtime.judgement.permissions.patterns import Kind
from runtime.judgement.permissions.permission import (
    CALL_CHARS,
    CALL_OBJECTS,
    OBJECT_CHARS,
    Need,
    ObjectTooLargeError,
    canonical_arguments,
    covers,
    denial_matches,
    grant_matches,
    needs_of,
)
from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.record.state.events import GrantAdded


def granted(verb: str, pattern: str, need: Need, *, root: str = "/srv") -> bool:
    grant = GrantAdded(
        grant_id="g",
        subject="*",
        verb=verb,
        pattern=canonical_pattern(verb, pattern, root=root),
        lifetime="always",
    )
    return covers(grant, need, agent="a", run_id="r", ref="s")


# -- paths that a tool puts together itself ------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("data", "/etc/passwd"),  # os.path.join("data", "/etc/passwd") is /etc/passwd
        ("data", "//etc/passwd"),
        ("data", "~/.ssh/id_rsa"),
        ("~", "x"),
        ("~root", "x"),
        ("", "etc/passwd"),  # "" + "/" + name is of the root, join("", name) of the workspace
        ("data", ""),
        ("/srv/data", "x"),
    ],
)
def test_a_part_of_a_path_leads_nowhere_else(folder: str, name: str) -> None:
    with pytest.raises(PermissionSyntaxError, match="as a part of"):
        needs_of(["fs.write:{folder}/{name}"], {"folder": folder, "name": name}, root="/srv")


@given(st.text(max_size=12), st.text(max_size=12))
def test_a_path_of_parts_is_checked_where_joining_leads(folder: str, name: str) -> None:
    try:
        (need,) = needs_of(["fs.write:{folder}/{name}"], {"folder": folder, "name": name}, root="/srv")
    except PermissionSyntaxError:
        return
    joined = Path("/srv", os.path.join(folder, name)).expanduser()  # noqa: PTH118 - as a careless tool does it
    assert need.object == str(joined.resolve())


# -- arguments of other shapes ------------------------------------------------------------


@pytest.mark.parametrize("value", [[["/etc"]], [None], [{"a": 1}], {"a": 1}, None])
def test_what_is_no_text_is_refused_wherever_it_stands(value: Any) -> None:
    for use in (needs_of, canonical_arguments):
        with pytest.raises(PermissionSyntaxError, match="not a text"):
            use(["fs.read:{p}"], {"p": value}, root="/srv")


def test_an_empty_list_may_mean_everything_and_is_covered_by_no_folder() -> None:
    (need,) = needs_of(["fs.read:{paths}"], {"paths": []}, root="/srv")
    assert need == Need("fs.read")
    assert not granted("fs.read", "/srv/**", need)
    assert granted("fs.read", "**", need)
    (need,) = needs_of(["fs.read:{folder}/{names}"], {"folder": "a", "names": []}, root="/srv")
    assert need == Need("fs.read")


def test_a_set_is_several_and_reaches_the_tool_as_such() -> None:
    assert canonical_arguments(["fs.read:{p}"], {"p": {"a"}}, root="/srv") == {"p": ["/srv/a"]}


@pytest.mark.parametrize(
    "declared", ["fs.write:{path!r}", "fs.write:{args[path]}", "fs.write:{}", "fs.write:{a.b}", "x:{"]
)
def test_a_brace_that_names_no_argument_is_no_object_of_its_own(declared: str) -> None:
    with pytest.raises(PermissionSyntaxError, match="brace"):
        needs_of([declared], {"path": "/etc/passwd", "args": {}, "a": "x"}, root="/srv")


# -- verbs that are not known here ------------------------------------------------------------


@pytest.mark.parametrize(
    "target", ["data/../../etc/passwd", "data/x/../../../etc", "/data/../etc", "data\\..\\..\\etc", "data/.."]
)
def test_a_star_does_not_follow_a_path_upwards_for_a_verb_that_nobody_canonicalises(target: str) -> None:
    for pattern in ("data/**", "data/*", "/data/**", "data/*/**", "data\\**"):
        assert not grant_matches(pattern, target, Kind.COMMAND)
    assert grant_matches(target, target, Kind.COMMAND)


@pytest.mark.parametrize(
    "command",
    ["git status; rm -r x", "git log | sh", "git x && y", "git $(id)", "git `id`", "git a\nrm b", "git > x", "git (x)"],
)
def test_a_star_in_a_command_ends_where_another_one_begins(command: str) -> None:
    assert not grant_matches("git *", command, Kind.COMMAND)
    assert grant_matches("git *", "git status -s", Kind.COMMAND)


def test_stars_between_slashes_stand_for_any_number_of_folders() -> None:
    for path, expected in {
        "/srv/.env": True,
        "/srv/a/.env": True,
        "/srv/a/b/.env": True,
        "/srv/a.env": False,
        "/srvx/.env": False,
        "/.env": False,
    }.items():
        assert grant_matches("/srv/**/.env", path, Kind.PATH) is expected, path


# -- addresses ------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://[::ffff:127.0.0.1]/", "127.0.0.1:80"),
        ("http://[::ffff:7f00:1]:81/", "127.0.0.1:81"),
        ("http://0177.0.0.1/", "127.0.0.1:80"),
        ("http://user:pass@good.example:8443/", "good.example:8443"),
        ("https://good.example:443@evil.example/", "evil.example:443"),
        ("https://good.example%2f@evil.example/", "evil.example:443"),
        ("https://evil.example#@good.example/", "evil.example:443"),
        ("https://evil.example?@good.example/", "evil.example:443"),
        ("https://GOOD.example.../", "good.example:443"),
        ("https://ｇood.example/", "good.example:443"),
        ("https://good。example/", "good.example:443"),
        ("gopher://good.example/", "good.example:gopher"),
    ],
)
def test_an_address_is_of_the_host_that_is_called(url: str, expected: str) -> None:
    assert canonicalize("net", url, root="/") == expected
    used = canonical_arguments(["net:{u}"], {"u": url}, root="/")["u"]
    assert canonicalize("net", used, root="/") == expected
    assert used.isascii()


@pytest.mark.parametrize(
    "url",
    [
        "https:evil.example/",
        "https:///evil.example",
        "file:///etc/passwd",
        "https://%65vil.example/",
        "https://evil%2eexample",
    ],
)
def test_an_address_without_a_host_that_can_be_read_is_refused(url: str) -> None:
    with pytest.raises(PermissionSyntaxError):
        canonicalize("net", url, root="/")


@given(st.text(alphabet=string.ascii_letters + string.digits + "-._~%:@/?#[]!$&'()*+,;=\\ \t。é", max_size=25))
def test_no_prefix_before_a_foreign_host_makes_it_the_granted_one(prefix: str) -> None:
    url = f"https://{prefix}evil.example/{quote(prefix)}"
    try:
        found = canonicalize("net", url, root="/")
    except PermissionSyntaxError:
        return
    if grant_matches("good.example:443", found, Kind.URL):
        assert urlsplit(url).hostname == "good.example"
    used = canonical_arguments(["net:{u}"], {"u": url}, root="/")["u"]
    assert (urlsplit(used).hostname or "").strip("[]") == found.rpartition(":")[0].strip("[]")


@pytest.mark.parametrize(
    ("pattern", "need", "expected"),
    [
        ("bücher.example:443", "xn--bcher-kva.example:443", True),
        ("*.BÜCHER.example:443", "www.xn--bcher-kva.example:443", True),
        ("API.Example.com.:443", "api.example.com:443", True),
        ("[0:0:0:0:0:0:0:1]:80", "[::1]:80", True),
        ("127.1:80", "127.0.0.1:80", True),
        ("10.0.0.*", "10.0.0.7", True),
        ("10.0.0.**", "10.0.0.7", True),
        ("example.com", "example.com:443", False),
        ("*.example.com:443", "example.com:443", False),
        ("*.example.com:443", "evil-example.com:443", False),
        ("*.example.com:443", "a.example.com:443.evil.example:443", False),
    ],
)
def test_a_hosts_pattern_is_written_as_hosts_are_compared(pattern: str, need: str, expected: bool) -> None:
    assert granted("net", pattern, Need("net", need)) is expected


@pytest.mark.parametrize(
    "pattern", ["https://api.example.com/*", "user@example.com", "example.com/x", "a b", "[::1", "ex%41mple.com"]
)
def test_a_pattern_that_no_host_ever_equals_is_refused_not_kept(pattern: str) -> None:
    with pytest.raises(PermissionSyntaxError, match="is not a host"):
        canonical_pattern("net", pattern, root="/")
    with pytest.raises(ValueError, match="is not a host"):
        PermissionPolicy.from_mapping({"deny": [f"net:{pattern}"]}, root="/")


def test_what_is_denied_for_a_host_is_denied_at_all_its_ports_and_what_is_allowed_is_not() -> None:
    for host, need in (
        ("evil.example", "evil.example:8443"),
        ("[::1]", "[::1]:80"),
        ("*.evil.example", "a.evil.example:443"),
    ):
        for verdict in ("deny", "ask"):
            policy = PermissionPolicy.from_mapping({"default": "allow", verdict: [f"net:{host}"]}, root="/")
            assert policy.verdict(Need("net", need), "a") == verdict
        policy = PermissionPolicy.from_mapping({"default": "deny", "allow": [f"net:{host}"]}, root="/")
        assert policy.verdict(Need("net", need), "a") == "deny"


# -- everything at once: whatever is granted, nothing outside it is covered ------------------------------------------

_PIECES = st.sampled_from(
    ["data", "secret", "..", ".", "", "*", "**", "~", "%2e%2e", "data ", "DATA", "dat\u0430", "a"]
)


@given(st.lists(_PIECES, min_size=1, max_size=6), st.lists(_PIECES, min_size=1, max_size=6))
def test_a_granted_folder_is_all_that_is_granted(pattern: list[str], path: list[str]) -> None:
    words = "/".join(["data", *(each for each in pattern if each != "..")])
    try:
        canonical_words = canonical_pattern("fs.write", words, root="/srv")
        (need,) = needs_of(["fs.write:{p}"], {"p": "/".join(path)}, root="/srv")
    except PermissionSyntaxError:
        return
    if grant_matches(canonical_words, need.object, Kind.PATH):
        assert f"{need.object}/".startswith("/srv/data/")


def test_a_tool_gets_the_path_that_was_checked_whatever_is_declared_before_it() -> None:
    declared = ["fs.read:/etc/hosts", "fs.read:{absent}", "agent.invoke:{name}", "fs.read:{path}"]
    given = {"name": "A/../B", "path": "x/../y"}
    assert canonical_arguments(declared, given, root="/srv") == {"name": "A/../B", "path": "/srv/y"}


@pytest.mark.parametrize("use", [needs_of, canonical_arguments])
def test_an_argument_that_is_not_text_is_named_with_its_permission(use: Callable[..., object]) -> None:
    with pytest.raises(PermissionSyntaxError) as caught:
        use(["fs.read:{path}"], {"path": None}, root="/srv")
    assert "permission 'fs.read:{path}': the argument 'path' is nothing" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "what"), [("", "'' is empty"), ("/etc", "begins with '/'"), ("~a", "begins with '~'")]
)
def test_a_part_of_a_path_that_could_lead_anywhere_is_named_with_the_path(value: str, what: str) -> None:
    with pytest.raises(PermissionSyntaxError) as caught:
        needs_of(["fs.read:data/{part}"], {"part": value}, root="/srv")
    assert what in str(caught.value)
    assert "as a part of 'data/{part}' it could lead anywhere" in str(caught.value)


@pytest.mark.parametrize(("value", "what"), [({"a": "b"}, "an object"), ([["a"]], "a list in a list")])
def test_an_argument_that_holds_no_texts_is_refused_by_what_it_is(value: object, what: str) -> None:
    with pytest.raises(PermissionSyntaxError, match=rf"the argument 'x' is {what}\b"):
        needs_of(["tool:{x}"], {"x": value}, root="/srv")


def test_a_capital_letter_is_a_letter_like_others() -> None:
    assert needs_of(["tool:X{x}"], {"x": "X"}, root="/srv") == (Need("tool", "XX"),)
    assert needs_of(["fs.read:data/{x}"], {"x": "X.txt"}, root="/srv") == (Need("fs.read", "/srv/data/X.txt"),)


def test_a_grant_of_everything_covers_a_name_that_leads_upwards_and_no_other_pattern_does() -> None:
    assert grant_matches("**", "files/../x", Kind.NAME)
    assert not grant_matches("files/**", "files/../x", Kind.NAME)


@pytest.mark.parametrize(
    ("pattern", "target", "kind", "fits"),
    [
        ("/srv/a*", "/srv/a.b:c", Kind.PATH, "yes"),
        ("/srv/*", "/srv/a/b", Kind.PATH, "no"),
        ("files/*", "files/a/b", Kind.NAME, "yes"),
        ("files/read", "files/write", Kind.NAME, "no"),
    ],
)
def test_a_denial_of_a_path_is_read_as_written_and_one_of_a_name_as_wide_as_can_be(
    pattern: str, target: str, kind: Kind, fits: str
) -> None:
    assert denial_matches(pattern, target, kind) == fits


def test_a_need_without_an_object_is_written_as_its_verb() -> None:
    assert (str(Need("tool")), str(Need("tool", "a"))) == ("tool", "tool:a")


def test_what_stands_around_an_argument_counts_for_each_object_of_a_call() -> None:
    around = "a" * (CALL_CHARS // 100)
    few, many = ([str(number) for number in range(count)] for count in (90, 110))
    assert len(needs_of([f"tool:{around}{{x}}"], {"x": few}, root="/srv")) == 90
    with pytest.raises(ObjectTooLargeError, match=r"^tool: the objects of the call have more than") as caught:
        needs_of([f"tool:{around}{{x}}"], {"x": many}, root="/srv")
    assert caught.value.verb == "tool"


@pytest.mark.parametrize(("texts", "others"), [(2, 3), (1, 3), (3, 1)])
def test_each_object_of_two_arguments_counts_with_the_texts_of_both(texts: int, others: int) -> None:
    arguments = {"x": _texts(texts, 2_000), "y": _texts(others, 500)}
    length = sum(len("{x}{y}") + len(one) + len(other) for one in arguments["x"] for other in arguments["y"])
    most = CALL_CHARS // length
    assert needs_of(["tool:{x}{y}"] * most, arguments, root="/srv")
    with pytest.raises(ObjectTooLargeError, match=r"^tool: the objects of the call have more than"):
        needs_of(["tool:{x}{y}"] * (most + 1), arguments, root="/srv")


def test_a_call_may_name_as_many_objects_and_characters_as_are_checked_and_no_more() -> None:
    full = _texts(CALL_CHARS // OBJECT_CHARS, OBJECT_CHARS - len("{x}"))
    assert len(needs_of(["tool:{x}"], {"x": full}, root="/srv")) == len(full)
    most = [str(number) for number in range(CALL_OBJECTS)]
    assert len(needs_of(["tool:{x}"], {"x": most}, root="/srv")) == CALL_OBJECTS
    with pytest.raises(ObjectTooLargeError, match=r"^tool: the call names more than 1,000 objects") as caught:
        needs_of(["tool:{x}"], {"x": [*most, "one more"]}, root="/srv")
    assert caught.value.verb == "tool"


def test_an_empty_list_adds_nothing_to_the_longest_object() -> None:
    assert needs_of([f"tool:{'a' * (OBJECT_CHARS - len('{x}'))}{{x}}"], {"x": []}, root="/srv") == (Need("tool"),)


def _texts(count: int, length: int) -> list[str]:
    return [str(number).rjust(length, "a") for number in range(count)]


def test_the_longest_object_that_is_checked() -> None:
    longest = OBJECT_CHARS - len("{x}")  # the words of the permission count as they stand
    assert needs_of(["tool:{x}"], {"x": "a" * longest}, root="/srv")
    with pytest.raises(ObjectTooLargeError, match=r"^tool: an object of"):
        needs_of(["tool:{x}"], {"x": "a" * (longest + 1)}, root="/srv")
