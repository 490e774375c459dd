"""A lost link that wants a login: `r` logs in again, wherever one is, and takes no letter from anybody else."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from textual.app import App
from textual.widgets import Input

from runtime.link.client.client import LinkQuality
from tests.console.app.console_bench import answers, armed, broken, console, text_of
from tests.screens.stories import digest
from tests.screens.waiting import press, until


@pytest.fixture(autouse=True)
def _terminal_is_given_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no terminal is, none can be; `tests/console/test_remote_console.py` has one, and an ssh that asks."""
    monkeypatch.setattr(App, "suspend", lambda _app: nullcontext())


async def test_r_logs_in_again_and_the_line_says_so() -> None:
    async with console(digest()) as (pilot, link):
        await pilot.press("r")
        assert link.logins == 0
        link.needs_login = True
        link.lose("ssh: Permission denied: a login is needed")
        await until(pilot, lambda: "r logs in again" in text_of(pilot))
        assert "a login is needed" in text_of(pilot)
        await press(pilot, "r", then=lambda: bool(link.logins))
        await press(pilot, "b", then=lambda: link.logins == 2)


async def test_where_no_login_is_needed_r_stays_what_it_was() -> None:
    async with console(broken(), run_id="run-3") as (pilot, link):
        await armed(pilot)
        link.lose("gone")
        await until(pilot, lambda: "b brings it back" in text_of(pilot))
        await press(pilot, "r", then=lambda: bool(link.said))
        assert link.logins == 0


async def test_over_a_prompt_whose_link_is_lost_r_logs_in_and_decides_nothing() -> None:
    async with console(broken(), run_id="run-3") as (pilot, link):
        await armed(pilot)
        link.needs_login = True
        link.lose("a login is needed")
        await until(pilot, lambda: "logs in again" in text_of(pilot))
        await press(pilot, "r", then=lambda: bool(link.logins))
        assert not answers(link)


async def test_with_several_hosts_the_prompt_of_one_that_is_there_keeps_its_r() -> None:
    async with console(broken(), run_id="run-3") as (pilot, link):
        await armed(pilot)
        link.hosts = {"run-3": "here"}
        link.needs_login = True
        link.qualities = (LinkQuality("here", "connected"), LinkQuality("there", "lost"))
        link.changed()
        await press(pilot, "r", then=lambda: len(answers(link)) == 1)
        assert link.logins == 0


async def test_a_field_in_which_someone_types_keeps_its_r() -> None:
    async with console(digest()) as (pilot, link):
        link.needs_login = True
        link.lose("a login is needed")
        await press(pilot, "slash", then=lambda: isinstance(pilot.app.focused, Input))
        await pilot.press("r")
        field = pilot.app.focused
        assert isinstance(field, Input)
        await until(pilot, lambda: field.value == "r")
        assert link.logins == 0
