"""Every snippet of the page on models runs, in its order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orbiter.models import get_provider, model_registry
from orbiter.models.endpoints import ALIASES, ENDPOINTS
from orbiter.models.scripted.replies import Reply
from orbiter.models.scripted.script_file import parse_scripts
from orbiter.types import UserMessage

PAGE = Path(__file__).parents[3] / "docs" / "models.md"


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def clean_registry() -> Iterator[None]:
    yield
    model_registry._items.pop("parrot", None)


@pytest.mark.usefixtures("clean_registry")
def test_python_snippets_run(capsys: pytest.CaptureFixture[str]) -> None:
    space: dict[str, Any] = {}
    for number, snippet in enumerate(snippets("python")):
        exec(compile(snippet, f"{PAGE.name}, snippet {number + 1}", "exec"), space)
    assert capsys.readouterr().out == "You said: Hello\n"
    assert space["provider"].config.model_name == "my-model"


async def test_the_yaml_snippet_is_a_script() -> None:
    (text,) = snippets("yaml")
    (found,) = parse_scripts(text).values()
    first = (await found.say([UserMessage(content="x")], []))[1]
    assert isinstance(first, Reply)
    assert first.calls[0].arguments == {"path": "a.txt"}


def test_the_table_has_every_provider_with_its_variables() -> None:
    page = PAGE.read_text(encoding="utf-8")
    lines = {found[0]: line for line in page.splitlines() if (found := re.findall(r"^\| `(\w+)`", line))}
    assert set(lines) >= {*ENDPOINTS, "scripted"}
    for name, row in ENDPOINTS.items():
        for variable in (*row.url_variables, *(row.key_variables if row.key_required else ())):
            assert f"`{variable}`" in lines[name], f"{variable} is missing in the row of {name}"
    for alias in ALIASES:
        assert f"`{alias}`" in page
    get_provider("scripted:polite")
