"""The HTML report in a real browser: read without scripts and on paper, found and folded with them, at three widths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.html.page import html_report
from console.html.story import story
from tests.console.html.browser import CHROMIUM, Browser
from tests.console.html.test_page import exported
from tests.screens.stories import digest

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "run.html"
    path.write_text(html_report(exported(digest())), encoding="utf-8")
    return path


HIDDEN = (
    "[...document.querySelectorAll('main pre, main .node > summary')].filter(each => !each.checkVisibility()).length"
)


def test_without_scripts_all_is_there_to_be_read_and_folds_by_itself(browser: Browser, page: Path) -> None:
    browser.open(page, scripts=False)
    assert browser.ask("getComputedStyle(tools).display") == "none", "what would do nothing is not shown"
    said = browser.ask("document.body.innerText")
    told = digest()
    for line in story(told.state, told.events):
        assert line in said
    assert "researcher › write_file" in said
    assert browser.ask(HIDDEN) > 0
    browser.ask("document.querySelectorAll('details').forEach(each => each.querySelector('summary').click())")
    assert browser.ask("document.querySelectorAll('details[open]').length") > 0
    browser.send("Emulation.setEmulatedMedia", media="print")
    assert browser.ask(HIDDEN) == 0, "on paper all is open"
    browser.send("Emulation.setEmulatedMedia", media="")


def test_the_script_finds_and_folds_and_no_other_script_runs(browser: Browser, page: Path) -> None:
    browser.open(page, scripts=True, place="#n4")
    assert browser.ask("document.getElementById('n4').open"), "a link opens what it leads to"
    browser.ask("document.getElementById('fold').click()")
    assert browser.ask("document.querySelectorAll('main details[open]').length") == 0
    browser.ask("document.getElementById('find').focus()")
    browser.send("Input.insertText", text="SEARCH_releases")
    assert browser.ask("found.textContent").endswith(" found")
    browser.press("Enter")
    assert browser.ask("found.textContent").startswith("1 of ")
    assert browser.ask("document.querySelector('.hit.now').checkVisibility()")
    browser.ask("document.getElementById('unfold').click()")
    assert browser.ask("document.querySelectorAll('main details:not([open])').length") == 0
    browser.ask("const other = document.createElement('script'); other.textContent = 'window.ran = 1';"
                "document.body.append(other)")  # fmt: skip
    assert browser.ask("typeof window.ran") == "undefined"


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_nothing_is_wider_than_the_page_in_light_or_dark(browser: Browser, page: Path, width: int) -> None:
    browser.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    grounds = []
    for look in ("light", "dark"):
        browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": look}])
        browser.open(page, scripts=True)
        browser.ask("document.getElementById('unfold').click()")
        assert browser.ask("innerWidth") == width
        assert browser.ask("document.documentElement.scrollWidth") <= width
        grounds.append(browser.ask("getComputedStyle(document.body).backgroundColor"))
    assert len(set(grounds)) == 2
