"""What the source cites, a reader of the repository can find: sections and rules, seeds, and pages of facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "design.md").read_text("utf-8")
CITED = re.compile(
    r"DESIGN section (\d+)(?:, rules? (\d+))?|\b[Ss]eeds? (00\d)((?:(?:, | and )00\d)*)|\bfacts/([a-z-]+)"
)


def _citations() -> Iterator[tuple[str, re.Match[str]]]:
    for folder in ("benchmarks", "console", "examples", "orbiter", "runtime", "screens", "tests", "themes"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = re.sub(r"\s+#?\s*", " ", path.read_text("utf-8"))
            yield from ((str(path.relative_to(ROOT)), found) for found in CITED.finditer(text))


def test_every_citation_leads_somewhere() -> None:
    sections = {found[1]: found[2] for found in re.finditer(r"(?ms)^## (\d+)\. (.*?)(?=^## |\Z)", PAGE)}
    cited = list(_citations())
    for where, found in cited:
        section, rule, seed, more, facts = found.groups()
        if section:
            assert section in sections, f"{where}: {found[0]}"
            assert not rule or re.search(rf"(?m)^{rule}\. ", sections[section]), f"{where}: {found[0]}"
        for each in re.findall(r"00\d", f"{seed}{more}") if seed else ():
            assert f"\n| {each} | " in PAGE, f"{where}: {found[0]}"
        if facts:
            assert f"\n| facts/{facts} | " in PAGE, f"{where}: {found[0]}"
    assert len(cited) > 50
