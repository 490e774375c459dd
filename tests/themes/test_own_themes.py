"""Theme files of the user's own: what they may leave out, what is said about mistakes, where they are found."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.record.user_directories import config_home
from themes.builtin_themes import builtin_theme
from themes.catalog import ThemeCatalog, ThemePlace, theme_places
from themes.choice import BUILTIN_NAMES, DEFAULT_THEME, ThemeError
from themes.contrast import weak_pairs
from themes.loader import load_theme, parse_theme
from themes.theme_file import MAX_BYTES

GOOD = (Path(__file__).parents[1] / "data" / "own-theme.yaml").read_text("utf-8")
TOML = (files("themes") / f"{DEFAULT_THEME}.toml").read_text("utf-8")
"""The same theme in both forms."""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["mapping", "name", "base"]),
        ("[1, 2]", ["mine.yaml:1", "mapping"]),
        ("a: [", ["mine.yaml:1", "not valid YAML"]),
        ("name: x\n\t- y", ["mine.yaml:2", "not valid YAML"]),
        ("[" * 5000, ["not valid YAML"]),
        (GOOD.replace("dark: true", "dark: night"), ["mine.yaml:3", "dark", "true"]),
        (GOOD.replace("dark: true\n", ""), ["dark", "true"]),
        (GOOD.replace("name: orbiter-dark", "name: ''"), ["mine.yaml:2", "name"]),
        (GOOD.replace("name: orbiter-dark", 'name: "a\\eb"'), ["mine.yaml:2", "name", "printable"]),
        (GOOD.replace("name: orbiter-dark", "name: [a]"), ["mine.yaml:2", "name"]),
        (GOOD.replace("  timed_out:", "  timedout:"), ["mine.yaml:", "states.timedout", "did you mean 'timed_out'?"]),
        (GOOD.replace('  ink-mark: "#f59ad0"\n', ""), ["inks.ink-mark", "missing", "invisible", "base"]),
        (GOOD.replace('"#f59ad0"', "rosy"), ["mine.yaml:19: inks.ink-mark", "rosy", "#rrggbb"]),
        (GOOD.replace('"#f59ad0"', "#f59ad0"), ["mine.yaml:19: inks.ink-mark", "unquoted # begins a comment"]),
        (GOOD.replace('"#f59ad0"', "12"), ["inks.ink-mark", "12", "#rrggbb"]),
        (GOOD.replace('"#f59ad0"', '"#f59ad080"'), ["inks.ink-mark", "opaque"]),
        (GOOD.replace('"#f59ad0"', "auto"), ["inks.ink-mark", "'auto'"]),
        (GOOD.replace('"#f59ad0"', "[red]"), ["inks.ink-mark"]),
        (GOOD.replace('"#f59ad0"', "ansi_red"), ["$ink-mark is ansi_red", "not both"]),
        (GOOD + "\nsounds: {}\n", ["mine.yaml:43: sounds", "unknown"]),
        (GOOD.replace("lines:\n", "lines: none\nlinens:\n"), ["linens", "did you mean 'lines'?"]),
        ("name: x\nbase: orbiter-dark\ngrounds: 3\n", ["mine.yaml:3: grounds", "mapping"]),
        (GOOD + '  info: "#000000"\n', ["severities.info", "twice", "line 37"]),
        ("name: x\nbase: orbiter-drak\n", ["mine.yaml:2: base", "did you mean 'orbiter-dark'?"]),
    ],
    ids=lambda found: found[0] if isinstance(found, list) else "",
)
def test_a_broken_theme_says_what_where_and_what_instead(text: str, words: list[str]) -> None:
    with pytest.raises(ThemeError) as caught:
        parse_theme(text, "mine.yaml")
    assert [word for word in ["mine.yaml", *words] if word not in str(caught.value)] == [], str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["name", "printable"]),
        ("a = ]", ["not valid TOML", "line 1"]),
        ("name = 'x'\nname = 'y'\n", ["not valid TOML", "line 2"]),
        ("a = " + "[" * 5000, ["nested too deeply"]),
        (TOML.replace("dark = true", 'dark = "night"'), ["mine.toml:3", "dark", "true"]),
        (TOML.replace("dark = true\n", ""), ["dark", "true"]),
        (TOML.replace('name = "orbiter-dark"', "name = 7"), ["mine.toml:2", "name", "printable"]),
        (TOML.replace('name = "orbiter-dark"', 'name = "a\\u001bb"'), ["mine.toml:2", "name", "printable"]),
        (TOML.replace("timed_out =", "timedout ="), ["mine.toml:", "states.timedout", "did you mean 'timed_out'?"]),
        (TOML.replace('ink-mark = "#f59ad0"\n', ""), ["mine.toml:16: inks.ink-mark", "missing", "invisible", "base"]),
        (TOML.replace('"#f59ad0"', '"rosy"'), ["mine.toml:22: inks.ink-mark", "'rosy'", "#rrggbb"]),
        (TOML.replace('"#f59ad0"', "12"), ["mine.toml:22: inks.ink-mark", "12 is not an opaque colour"]),
        (TOML.replace('"#f59ad0"', '["red"]'), ["mine.toml:22: inks.ink-mark", "['red'] is not an opaque colour"]),
        (TOML.replace('"#f59ad0"', '"ansi_red"'), ["$ink-mark is ansi_red", "not both"]),
        (TOML + "\n[sounds]\n", ["mine.toml:", "sounds: unknown"]),
        ('name = "x"\nbase = "orbiter-dark"\ngrounds = 3\n', ["mine.toml:3: grounds", "mapping"]),
        ('name = "x"\nbase = "orbiter-drak"\n', ["mine.toml:2: base", "did you mean 'orbiter-dark'?"]),
        ('name = "x"\nbase = ["orbiter-dark"]\n', ["mine.toml:2: base", "not a built-in theme"]),
    ],
    ids=lambda found: found[0] if isinstance(found, list) else "",
)
def test_a_broken_theme_in_toml_says_what_where_and_what_instead(text: str, words: list[str]) -> None:
    with pytest.raises(ThemeError) as caught:
        parse_theme(text, "mine.toml")
    assert [word for word in ["mine.toml", *words] if word not in str(caught.value)] == [], str(caught.value)


def test_a_theme_in_yaml_is_the_one_that_it_would_be_in_toml() -> None:
    assert parse_theme(GOOD, "mine.yaml") == parse_theme(TOML, "mine.toml") == builtin_theme(DEFAULT_THEME)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("name", ["mine.toml", "mine.yaml"])
def test_a_theme_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(ThemeError, match="is a pipe, not a file"):
        load_theme(tmp_path / name)
    assert ThemeCatalog([ThemePlace(tmp_path, "user")]).names()[-1] == "mine"


LINES = [*GOOD.splitlines(), *TOML.splitlines(), "  - x", "base: 1"]


@given(
    st.sampled_from(["mine.toml", "mine.yaml"]),
    st.text(max_size=200) | st.lists(st.sampled_from(LINES)).map("\n".join),
)
def test_whatever_a_file_holds_it_is_a_theme_or_refused(source: str, text: str) -> None:
    with suppress(ThemeError):  # any other exception is a mistake
        theme = parse_theme(text, source, name="mine")
        assert theme.variables.keys() >= builtin_theme(DEFAULT_THEME).variables.keys()


def test_a_theme_with_a_base_says_only_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text('base: orbiter-light\nstates:\n  failed: "#aa0000"\n', "utf-8")
    theme, base = load_theme(path), builtin_theme("orbiter-light")
    assert (theme.name, theme.dark) == ("mine", False)
    assert {token for token, value in theme.variables.items() if base.variables[token] != value} == {"state-failed"}


def test_contrast_that_is_too_low_is_found_and_not_refused(tmp_path: Path) -> None:
    path = tmp_path / "faint.yaml"
    path.write_text('base: orbiter-dark\ninks:\n  ink-muted: "#444444"\n  ink-key: "#333333"\n', "utf-8")
    found = weak_pairs(load_theme(path))
    assert {pair.ink for pair in found} == {"ink-muted", "ink-key"}
    assert found[0].ink == "ink-key"
    assert found[0].ratio < 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "No such file"),
        (b"\xff\xfe", "is not UTF-8 text: byte 0xff in line 1"),
        (b" " * (MAX_BYTES + 1), "is too large: 65536 bytes at most"),
        (b"base: orbiter-dark\nname: orbiter-light\n", "is a built-in theme"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, data: bytes | None, words: str) -> None:
    path = tmp_path / "mine.yaml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ThemeError, match=words) as caught:
        load_theme(path)
    assert str(path) in str(caught.value)


def test_files_are_found_by_the_name_they_give_themselves_and_the_workspaces_come_first(tmp_path: Path) -> None:
    where = theme_places(config_home({"XDG_CONFIG_HOME": str(tmp_path / "config")}), tmp_path / "state")
    assert [place.path for place in where] == [
        tmp_path / "state" / "themes",
        tmp_path / "config" / "orbiter-console" / "themes",
    ]
    for place in where:
        place.path.mkdir(parents=True)
        (place.path / "one.yaml").write_text(f"base: orbiter-{'dark' if place.source == 'user' else 'light'}\n")
    (where[1].path / "two.yml").write_text("base: orbiter-dark\nname: second\n")
    (where[1].path / "three.toml").write_text('base = "orbiter-light"\nname = "third"\n')
    (where[1].path / "broken.yaml").write_text("a: [")
    (where[1].path / "notes.txt").write_text("none of these")
    shelf = ThemeCatalog(where)
    assert {name: place.source for name, place in shelf.own().items()} == {
        "one": "workspace",
        "broken": "user",
        "third": "user",
        "second": "user",
    }
    assert shelf.names() == [*BUILTIN_NAMES, "one", "broken", "third", "second"]
    assert not shelf.theme("one").dark
    assert shelf.theme("second").name == "second"
    assert not shelf.theme("third").dark
    assert shelf.theme(DEFAULT_THEME).name == DEFAULT_THEME
    with pytest.raises(ThemeError, match=r"broken\.yaml:1"):
        shelf.theme("broken")
    with pytest.raises(ThemeError, match="unknown theme 'none'"):
        shelf.theme("none")


def test_without_a_place_of_ones_own_for_settings_it_is_that_below_home(tmp_path: Path) -> None:
    for environment in ({"HOME": str(tmp_path)}, {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "relative"}):
        assert theme_places(config_home(environment), Path("/x"))[1] == ThemePlace(
            tmp_path / ".config/orbiter-console/themes", "user"
        )


def test_a_place_that_is_not_there_has_no_themes(tmp_path: Path) -> None:
    assert ThemeCatalog(theme_places(config_home({"HOME": str(tmp_path)}), tmp_path)).own() == {}
