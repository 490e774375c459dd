"""Each theme in 256 and in 16 colours: every token is a colour of the palette, can be read, and is the nearest such."""

from __future__ import annotations

import pytest
from rich.color import Color as PaintedColor
from rich.color import ColorSystem
from textual.color import Color
from textual.theme import Theme

from themes.builtin_themes import builtin_theme
from themes.choice import BUILTIN_NAMES
from themes.color_depth import FIRST_FIXED, FIXED_PALETTE, nearest_fixed, theme_for_depth
from themes.contrast import contrast_of, contrast_pairs
from themes.loader import parse_theme
from themes.tokens import SECTIONS, css_variable

HEX = [name for name in BUILTIN_NAMES if not builtin_theme(name).ansi]
LOOKED_FOR_FIRST = ("state-failed", "state-waiting", "state-succeeded", "state-running")


def tokens(*sections: str) -> list[str]:
    return [css_variable(section, token) for section in sections or SECTIONS for token in SECTIONS[section]]


def colours(theme: Theme, *wanted: str) -> list[Color]:
    return [Color.parse(theme.variables[token]) for token in wanted]


def test_the_palette_is_that_of_terminals() -> None:
    assert len(FIXED_PALETTE) == 240
    for number, colour in enumerate(FIXED_PALETTE, FIRST_FIXED):
        assert PaintedColor.from_ansi(number).get_truecolor() == colour.rgb
        assert FIXED_PALETTE[nearest_fixed(*colour.rgb) - FIRST_FIXED] == colour, "a colour that is there stays"


def test_nearest_is_what_looks_nearest_not_what_rounds_to_it() -> None:
    ground = Color.parse("#151a23")
    rounded = PaintedColor.from_rgb(*ground.rgb).downgrade(ColorSystem.EIGHT_BIT)
    assert rounded.number == 16, "Rich paints the ground of the default theme black; if no more, so much the better"
    assert nearest_fixed(*ground.rgb) == 234


@pytest.mark.parametrize("name", HEX)
def test_in_256_colours_every_token_is_of_the_palette_and_as_readable_as_it_was(name: str) -> None:
    theme = builtin_theme(name)
    shown = theme_for_depth(theme, "256")
    assert not shown.ansi
    assert {*colours(shown, *tokens())} <= {*FIXED_PALETTE}
    least = 7.0 if "contrast" in name else 4.5
    assert [pair for pair in contrast_pairs(shown) if pair.ratio < least] == []
    assert min(contrast_of(shown, "line-focus", ground) for ground in ("background", "surface", "panel")) >= 3
    for group in (tokens("grounds"), LOOKED_FOR_FIRST):
        assert len({*colours(shown, *group)}) == len({*colours(theme, *group)}), "what differs goes on to differ"


@pytest.mark.parametrize("name", HEX)
def test_in_16_colours_the_grounds_are_the_terminals_and_what_is_looked_for_first_differs(name: str) -> None:
    theme = builtin_theme(name)
    shown = theme_for_depth(theme, "16")
    assert shown.ansi
    assert shown.dark is theme.dark
    assert {shown.variables[token] for token in tokens("grounds")} == {"ansi_default"}
    assert all(shown.variables[token].startswith("ansi_") for token in tokens())
    assert [pair for pair in contrast_pairs(shown) if pair.ratio < 4.5] == []
    assert len({shown.variables[token] for token in LOOKED_FOR_FIRST}) == len(LOOKED_FOR_FIRST)


def test_in_16_colours_a_hue_stays_what_it_is() -> None:
    dark = theme_for_depth(builtin_theme("orbiter-dark"), "16").variables
    assert {token: dark[token] for token in LOOKED_FOR_FIRST} == {
        "state-failed": "ansi_bright_red",
        "state-waiting": "ansi_bright_yellow",
        "state-succeeded": "ansi_bright_green",
        "state-running": "ansi_cyan",
    }
    blind = theme_for_depth(builtin_theme("orbiter-colourblind-dark"), "16").variables
    assert {blind[token] for token in LOOKED_FOR_FIRST}.isdisjoint({"ansi_green", "ansi_bright_green"})


@pytest.mark.parametrize("depth", ["none", "truecolor"])
def test_where_all_colours_or_none_are_painted_a_theme_is_as_it_is(depth: str) -> None:
    theme = builtin_theme(HEX[0])
    assert theme_for_depth(theme, depth) is theme  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in BUILTIN_NAMES if builtin_theme(name).ansi])
def test_a_theme_in_the_terminals_own_colours_is_the_same_at_each_depth(name: str) -> None:
    theme = builtin_theme(name)
    assert theme_for_depth(theme, "256") is theme_for_depth(theme, "16") is theme


def test_a_theme_that_is_hard_to_read_is_not_made_harder() -> None:
    """A user's file may have what ours may not; and all of its states may be of one colour."""
    states = "".join(f'{state} = "#5a6270"\n' for state in SECTIONS["states"])
    text = f'name = "mine"\nbase = "orbiter-dark"\n[states]\n{states}'
    theme = parse_theme(text, "mine.toml")
    for shown in (theme_for_depth(theme, "256"), theme_for_depth(theme, "16")):
        before, after = (min(pair.ratio for pair in contrast_pairs(each)) for each in (theme, shown))
        assert after >= before
