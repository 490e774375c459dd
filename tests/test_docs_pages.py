"""The documentation agrees with the code: pages made from it, settings, command lines, links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from pydantic import BaseModel

from console.cli import VERBS, cli
from console.preferences.schema import CONSOLE_SETTINGS, preferences
from runtime.config.schema import Settings
from runtime.config.schema_keys import sections, unknown_key
from runtime.testing.drills.drill_file import parse_drill
from screens.shell.key_actions import actions
from tests.pages import PAGES, ROOT, VERB_OF, verb_of
from themes.loader import parse_theme

TEXTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
CONFIGURATION = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "page"), PAGES.items())
def test_what_is_made_from_the_code_is_up_to_date(name: str, page: Callable[[], str]) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == page(), "write it again: python -m tests.pages"


def _settings() -> Iterator[tuple[str, str]]:
    """Every key of `orbiter.toml`, with the section that it stands in."""
    for name, _, model in sections():
        yield from ((name.rpartition(".")[2], key) for key in model.model_fields)
    yield from (("console", each.name) for each in CONSOLE_SETTINGS)
    yield "keys", "preset"


def _section(name: str) -> str:
    """What the page says under the heading of a section."""
    found = re.search(
        rf"^## `\[+(?:errors\.|guests\.|mcp\.)?{name}\W.*?(?=^## |\Z)", CONFIGURATION, re.MULTILINE | re.DOTALL
    )
    assert found is not None, f"[{name}] has no heading"
    return found[0]


def _rows(name: str) -> dict[str, str]:
    """The keys in a section's table, each with the cell after it."""
    cells = (line.split("|")[1:3] for line in _section(name).splitlines() if line.startswith("| `"))
    return {key: told.strip() for keys, told in cells for key in re.findall(r"`(\w+)`", keys)}


@pytest.mark.parametrize(("section", "key"), sorted(set(_settings())))
def test_every_setting_is_documented(section: str, key: str) -> None:
    assert key in _rows(section)


@pytest.mark.parametrize("section", sorted({name for name, _ in _settings()}))
def test_no_setting_is_documented_that_is_none(section: str) -> None:
    assert {(section, key) for key in _rows(section)} <= set(_settings())


def _default(model: type[BaseModel], key: str) -> str | None:
    """A default as the page writes it; None where the page says it in words."""
    value = model.model_fields[key].default
    if isinstance(value, bool):
        return f"`{value}`".lower()
    if isinstance(value, int | float):
        return f"`{value:g}`"
    return f'`"{value}"`' if isinstance(value, str) and value else None


@pytest.mark.parametrize(
    ("section", "model"), [(name.rpartition(".")[2], model) for name, shape, model in sections() if shape != "list"]
)
def test_the_defaults_are_those_of_the_code(section: str, model: type[BaseModel]) -> None:
    rows = _rows(section)
    wrong = {
        key: default for key in model.model_fields if (default := _default(model, key)) not in (None, rows.get(key))
    }
    assert not wrong


def _blocks(language: str) -> Iterator[tuple[str, str]]:
    for page in TEXTS:
        for block in re.findall(
            rf"^ *```{language}\n(.*?)^ *```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            yield page.name, block


@pytest.mark.parametrize(("page", "text"), _blocks("toml"))
def test_the_examples_of_settings_and_themes_are_accepted(page: str, text: str) -> None:
    if page == "themes.md":
        assert parse_theme(text, f"{page}.toml", name="example").name == "example"
        return
    if text.startswith("[[faults]]"):
        assert parse_drill(text, page).faults
        return
    data = tomllib.loads(text)
    assert unknown_key(data) == ((), []), page
    Settings.model_validate(data)
    preferences(data)


def _command_lines() -> Iterator[tuple[str, list[str]]]:
    """Every `orbiter-console …` of the pages, in code blocks and in sentences."""
    for page in TEXTS:
        text = page.read_text(encoding="utf-8")
        for line in re.findall(r"`(orbiter-console [^`\n]+)`|^ *(?:\$ )?(orbiter-console [^\n]+)$", text, re.MULTILINE):
            told = next(filter(None, line)).partition("#")[0].partition("'")[0].partition(" | ")[0]
            yield page.name, told.split()[1:]


def _known(command: click.Command) -> set[str]:
    names = {name for each in command.get_params(click.Context(command)) for name in (*each.opts, *each.secondary_opts)}
    return names | {"--help", "-h"}


@pytest.mark.parametrize(("page", "words"), _command_lines())
def test_every_command_line_names_what_there_is(page: str, words: list[str]) -> None:
    command: click.Command = cli
    for word in words:
        if command is cli and word in VERBS:
            found = cli.get_command(click.Context(cli), word)
            assert found is not None
            command = found
        elif word.startswith("-") and word != "-":
            name = word.rstrip(";:,").partition("=")[0]
            assert name in _known(command), f"{page}: {' '.join(words)}: no {name}"


def test_every_verb_that_stands_beside_a_key_is_one() -> None:
    known = {each.id: each.place for each in actions()}
    assert VERB_OF.keys() <= known.keys(), "an action that is no more"
    for action, place in known.items():
        for said in filter(None, (each.strip() for each in verb_of(action, place).split(","))):
            verb, *rest = said.split()
            command = cli if verb.startswith("-") else cli.get_command(click.Context(cli), verb)
            assert command is not None, said
            assert {word for word in [verb, *rest] if word.startswith("-")} <= _known(command), said


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_page_can_be_reached_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {page.name for page in (ROOT / "docs").glob("*.md")} <= set(re.findall(r"\(docs/([\w-]+\.md)\)", readme))


def test_the_manual_builds_without_a_warning(tmp_path: Path) -> None:
    """Links, the navigation, and each `Args` entry of the reference against its signature."""
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        build, cwd=ROOT, check=False, capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert "retry_after" in (tmp_path / "reference" / "errors" / "index.html").read_text(encoding="utf-8")
