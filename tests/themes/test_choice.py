from __future__ import annotations

import pytest

from themes.choice import (
    BUILTIN_NAMES,
    DEFAULT_THEME,
    PLAINEST_THEME,
    ColorDepth,
    UnknownTheme,
    choose_theme,
    color_depth,
)

DEEP = {"TERM": "xterm-256color"}


@pytest.mark.parametrize(
    ("environment", "asked", "name"),
    [
        ({}, None, DEFAULT_THEME),
        (DEEP, None, DEFAULT_THEME),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, None, DEFAULT_THEME),
        ({"ORBITER_THEME": ""}, None, DEFAULT_THEME),
        ({"ORBITER_THEME": "orbiter-light"}, None, "orbiter-light"),
        ({"ORBITER_THEME": "orbiter-light"}, "orbiter-contrast-light", "orbiter-contrast-light"),
        ({"ORBITER_THEME": "nonsense"}, "orbiter-light", "orbiter-light"),
        ({"NO_COLOR": "1"}, None, PLAINEST_THEME),
        ({**DEEP, "NO_COLOR": "1"}, None, PLAINEST_THEME),
        ({**DEEP, "NO_COLOR": ""}, None, DEFAULT_THEME),
        ({"NO_COLOR": "1", "ORBITER_THEME": "orbiter-light"}, None, "orbiter-light"),
        ({"NO_COLOR": "1"}, "orbiter-dark", "orbiter-dark"),
        ({"TERM": "linux"}, None, PLAINEST_THEME),
        ({"TERM": "xterm-16color", "COLORFGBG": "15;0"}, None, PLAINEST_THEME),
        ({"TERM": "rxvt", "COLORFGBG": "0;default;15"}, None, "orbiter-ansi-light"),
        ({"TERM": "linux"}, "orbiter-dark", "orbiter-dark"),
    ],
)
def test_what_is_asked_for_most_nearly_is_shown(environment: dict[str, str], asked: str | None, name: str) -> None:
    assert choose_theme(environment, asked) == name


@pytest.mark.parametrize(
    ("environment", "asked", "words"),
    [
        ({}, "orbiter-lite", ["--theme", "'orbiter-lite'", "did you mean 'orbiter-light'?", PLAINEST_THEME]),
        ({}, "Orbiter-Dark", ["did you mean 'orbiter-dark'?"]),
        ({}, "", ["--theme", "''"]),
        ({"ORBITER_THEME": "orbiter-contrast"}, None, ["ORBITER_THEME", "did you mean 'orbiter-contrast-"]),
        ({}, "zzz", ["'zzz'; the themes are orbiter-dark"]),
        ({}, "solarised", ["did you mean 'solarized'?"]),
    ],
)
def test_an_unknown_theme_is_refused_with_the_nearest(
    environment: dict[str, str], asked: str | None, words: list[str]
) -> None:
    with pytest.raises(UnknownTheme) as caught:
        choose_theme(environment, asked, lambda: ["solarized"])
    assert all(word in str(caught.value) for word in words)


def test_the_users_own_files_are_looked_for_only_for_a_name_that_is_not_built_in() -> None:
    def own() -> list[str]:
        raise AssertionError("none of these was asked for")

    for name in (None, *BUILTIN_NAMES):
        choose_theme({}, name, own)
    assert choose_theme({}, "mine", lambda: ["mine"]) == "mine"


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, "none"),
        ({"TERM": "xterm", "NO_COLOR": "yes"}, "none"),
        ({"TERM": "xterm"}, "16"),
        ({"TERM": "screen"}, "16"),
        ({"TERM": "tmux-256color"}, "256"),
        ({"TERM": "xterm-kitty"}, "256"),
        ({"TERM": "screen", "COLORTERM": " 24bit"}, "truecolor"),
    ],
)
def test_the_depth_of_colour_is_what_the_terminal_says_of_itself(
    environment: dict[str, str], found: ColorDepth
) -> None:
    assert color_depth(environment) == found
