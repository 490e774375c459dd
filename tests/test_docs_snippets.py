"""Every Python snippet of README and docs runs as it stands: the blocks of a page one after another, in one process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Scripts of docs/upstream fail on purpose; tests/console/terminal/test_textual_patches.py runs them.
PAGES = [page for page in PAGES if page.parent.name != "upstream"]
# A block may be left out only with a reason that a reader of the page's source can see.
BLOCK = re.compile(r"(?P<skip><!-- not run: [^>]+ -->\s*)?^```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)

RUNNER = """
import ast, asyncio, inspect, sys
source = sys.stdin.read()
space = {"__name__": "__main__"}
code = compile(source, sys.argv[1], "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
if code.co_flags & inspect.CO_COROUTINE:
    asyncio.run(eval(code, space))
else:
    exec(code, space)
"""


def snippets(page: Path) -> str:
    """The page's blocks at the lines where they stand, so that a traceback points into the page."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        if not block["skip"]:
            first = text.count("\n", 0, block.start("code"))
            code = block["code"].splitlines()
            lines[first : first + len(code)] = code
    return "\n".join(lines)


def test_there_are_pages_with_snippets() -> None:
    assert sum(bool(snippets(page).strip()) for page in PAGES) >= 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_snippets_of_a_page_run(page: Path, tmp_path: Path) -> None:
    source = snippets(page)
    if not source.strip():
        return
    keys = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_AUTH_TOKEN"))}
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, str(page.relative_to(ROOT))],
        input=source,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        cwd=tmp_path,
        env={**keys, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
