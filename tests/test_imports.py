"""Start-up stays light: the lower packages load no screen and no vendor's SDK, and the byte pump next to nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VENDORS = frozenset({"orbiter.models.anthropic.provider", "orbiter.models.openai.provider"})
"""What is loaded when a model of theirs is called; each may load its own vendor's SDK."""
HEAVY = ("textual", "rich", "anthropic", "openai", "httpx", "httpx2")


def modules_of(package: str) -> list[str]:
    found = sorted((ROOT / package).rglob("*.py"))
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in found]
    return [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]


def loaded_after(code: str, watched: tuple[str, ...]) -> set[str]:
    """Runs `code` in an interpreter of its own and says which of the watched packages it loaded."""
    script = f"{code}\nimport sys\nprint(*sorted(set(sys.modules) & {set(watched)!r}))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("package", ["orbiter", "runtime"])
def test_importing_a_lower_floor_loads_neither_textual_nor_a_vendor_sdk(package: str) -> None:
    assert loaded_after(f"import {package}", HEAVY) == set()


@pytest.mark.parametrize("package", ["orbiter", "runtime"])
def test_no_module_of_a_lower_floor_loads_them_either(package: str) -> None:
    modules = [name for name in modules_of(package) if name not in VENDORS]
    assert package in modules
    assert loaded_after("import " + ", ".join(modules), ("textual", "rich", "anthropic", "openai")) == set()


def test_the_command_line_starts_light() -> None:
    assert loaded_after("import console.cli", (*HEAVY, "pydantic", "asyncio")) == set()


@pytest.mark.parametrize("package", ["console", "screens"])
def test_what_has_no_screen_loads_no_textual(package: str) -> None:
    """The linear mode, the views behind the screens, and every verb work where Textual is not installed."""
    linear = [
        "console.cli",
        "console.linear.run_follower",
        "console.linear.event_lines",
        "console.verbs.runs.demo",
        "console.verbs.decisions.incidents",
    ]
    modules = {
        "console": linear,
        "screens": ["screens.render.sanitize", "screens.render.formatting", "screens.render.glyphs"],
    }[package]
    assert loaded_after("import " + ", ".join(modules), ("textual", "anthropic", "openai")) == set()


def test_the_check_notices_what_it_is_there_for() -> None:
    assert loaded_after("import textual.app", HEAVY) >= {"textual", "rich"}
