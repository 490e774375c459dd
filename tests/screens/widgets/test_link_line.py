"""A dialog notices that the runtime is gone, says so, keeps what was typed, and goes on when it is there again."""

from __future__ import annotations

from typing import Any

from textual.widgets import Input

from runtime.link.client.client import LinkQuality, LinkStatus
from screens.dialogs.batch_action import BatchActionScreen
from screens.dialogs.bulk_answer import BulkAnswerScreen
from screens.dialogs.confirm_action import ConfirmActionScreen
from screens.dialogs.start_form import StartScreen
from screens.views.shared.link_loss import held_up_words
from screens.views.shared.render_context import RenderContext
from screens.widgets.editor import Editor
from screens.widgets.prompts.prompt import Prompt
from tests.console.app.console_bench import console, settled, text_of
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import START, digest, limited
from tests.screens.waiting import changed, press, until

LOST = "No runtime, b outside of here brings it back: its process ended"


def told(link: MemoryLink, status: LinkStatus) -> None:
    link.status = status
    link.changed()


async def test_the_form_says_that_the_runtime_is_gone_and_starts_when_it_is_back() -> None:
    async with console(digest(), size=(120, 34)) as (pilot, link):
        await pilot.press("2")
        await settled(pilot)
        await press(pilot, "s", then=StartScreen)
        await pilot.press(*"new.py:swarm", "tab")
        told(link, LinkStatus("lost", "its process ended"))
        await until(pilot, lambda: LOST in text_of(pilot))
        said = len(link.said)
        await pilot.press("ctrl+s")
        await settled(pilot)
        assert len(link.said) == said
        assert "Found." not in text_of(pilot)
        link.refs = ["new.py:swarm"]
        told(link, LinkStatus("connected"))
        await until(pilot, lambda: "No runtime" not in text_of(pilot))
        await until(pilot, lambda: "Found." in text_of(pilot))  # the form asked again which swarms there are
        screen: Any = pilot.app.screen
        assert screen.query_one("#ref", Input).value == "new.py:swarm"
        await press(pilot, "ctrl+s", then=lambda: any(verb == "start" for verb, _ in link.said))


async def test_a_run_of_which_nothing_can_be_written_is_said_on_every_screen_until_it_goes_on() -> None:
    async with console(digest(), size=(120, 34)) as (pilot, link):
        assert "cannot be carried on" not in text_of(pilot)
        why = "run r1: [b]disk[/b] full"
        link.qualities = (LinkQuality("", "connected", held_up=why), LinkQuality("far", "connected", held_up="r2, too"))
        await changed(pilot, link, then=f"{why}; far: r2, too · it is tried again by itself")
        await press(pilot, "5", then=lambda: "› log" in text_of(pilot) and why in text_of(pilot))
        told(link, LinkStatus("lost", "its process ended"))
        await until(pilot, lambda: "No runtime" in text_of(pilot) and why not in text_of(pilot))
        link.qualities = ()
        told(link, LinkStatus("connected"))
        await until(pilot, lambda: "No runtime" not in text_of(pilot) and why not in text_of(pilot))


def test_what_only_takes_long_is_said_calmly_and_not_beside_an_alarm() -> None:
    context = RenderContext(START)
    slow = LinkQuality("far", "connected", slow="run r1: still importing\x1b[2J a.py:swarm")
    (words,) = held_up_words((slow, LinkQuality("", "connected")), context)
    assert words.text.startswith("○ far: run r1: still importing")
    assert words.ink == "ink-muted"
    assert "\x1b" not in words.text
    (words,) = held_up_words((slow, LinkQuality("", "connected", held_up="run r2: disk full")), context)
    assert "r2: disk full" in words.text
    assert "r1" not in words.text
    assert words.ink == "severity-error"
    assert held_up_words((LinkQuality("", "connected"),), context) == ()


async def test_a_question_keeps_its_reason_and_is_answered_when_the_runtime_is_back() -> None:
    async with console(digest(), size=(120, 34), run_id="run-1") as (pilot, link):
        await press(pilot, "A", then=ConfirmActionScreen)
        await pilot.press(*"costs")
        told(link, LinkStatus("lost", "its process ended"))
        await until(pilot, lambda: LOST in text_of(pilot))
        await pilot.press("enter")
        screen: Any = pilot.app.screen
        await until(pilot, lambda: screen.armed)
        await pilot.press("y")
        await settled(pilot)
        assert pilot.app.screen is screen
        assert screen.query_one(Editor).text == "costs"
        told(link, LinkStatus("connected"))
        await until(pilot, lambda: "No runtime" not in text_of(pilot))
        await press(pilot, "y", then=lambda: ("abort", {"run_id": "run-1", "reason": "costs"}) in link.said)


async def test_what_is_meant_for_many_waits_for_the_runtime() -> None:
    stories = [limited(number, number, fingerprint="same") for number in (1, 2)]
    async with console(*stories, size=(120, 34)) as (pilot, link):
        for keys, dialog, send in (
            (("home", "B"), BulkAnswerScreen, ("s", "y")),
            (("ctrl+a", "A"), BatchActionScreen, ("y",)),
        ):
            await pilot.press(*keys)
            await until(pilot, lambda dialog=dialog: isinstance(pilot.app.screen, dialog))  # type: ignore[misc]
            told(link, LinkStatus("lost", "its process ended"))
            await until(pilot, lambda: LOST in text_of(pilot))
            before = list(link.said)
            await pilot.press(*send)
            await settled(pilot)
            assert [said for said in link.said[len(before) :] if said[0] != "precedent"] == []
            told(link, LinkStatus("connected"))
            await until(pilot, lambda: "No runtime" not in text_of(pilot))
            await pilot.press("escape", "escape")
            await settled(pilot)


async def test_a_link_that_is_sought_anew_is_said_too() -> None:
    async with console(digest(), size=(120, 34), run_id="run-1") as (pilot, link):
        await press(pilot, "A", then=ConfirmActionScreen)
        told(link, LinkStatus("connecting", "nothing was heard for 20 s"))
        await until(pilot, lambda: "connecting: nothing was heard for 20 s; nothing here is lost" in text_of(pilot))


async def test_a_word_to_the_agent_that_could_not_be_sent_stands_there_again() -> None:
    async with console(digest(), size=(120, 34), run_id="run-1") as (pilot, link):
        prompt = pilot.app.screen.query_one(Prompt)
        await until(pilot, lambda: prompt.armed)
        await pilot.press("d", *"use the wiki")
        told(link, LinkStatus("lost", "its process ended"))
        await press(pilot, "enter", then=lambda: prompt.mode == "choose")
        told(link, LinkStatus("connected"))
        await until(pilot, lambda: prompt.armed)
        await press(pilot, "d", then=lambda: prompt.mode == "type")
        assert prompt.query_one("#editor", Editor).text == "use the wiki"
        await press(pilot, "!", "enter", then=lambda: link.said[-1][1].get("params") == {"message": "use the wiki!"})
