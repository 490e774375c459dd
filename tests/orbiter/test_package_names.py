"""The package's names: lazily imported, and `tool` is the decorator whatever was imported before."""

from __future__ import annotations

import subprocess
import sys

import pytest

import orbiter

PRELUDES = [
    "",
    "import orbiter.tool",
    "from orbiter.tool import ToolError",
    "from orbiter.agent import Agent",
    "import orbiter; orbiter.run",
]


@pytest.mark.parametrize("prelude", PRELUDES)
def test_tool_is_the_decorator_in_any_order_of_imports(prelude: str) -> None:
    code = f"""{prelude}
from orbiter import tool, Agent, run
import orbiter, orbiter.tool
assert orbiter.tool is tool and callable(tool) and tool.__name__ == "tool", tool
assert tool(lambda: 1).name == "<lambda>"
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_importing_the_package_alone_loads_neither_pydantic_nor_asyncio() -> None:
    code = (
        "import sys, orbiter; print([name for name in ('pydantic', 'asyncio', 'orbiter.agent') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_all_names_are_there() -> None:
    for name in orbiter.__all__:
        assert getattr(getattr(orbiter, name), "__name__", name) == name  # a union has none
        assert name in dir(orbiter)
    with pytest.raises(AttributeError, match="module 'orbiter' has no attribute 'nope'"):
        orbiter.nope  # noqa: B018
