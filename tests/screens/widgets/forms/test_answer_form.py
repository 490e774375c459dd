"""The form of an answer: fields of each kind, problems below their fields, secrets, and the operator's own editor."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest
from textual.pilot import Pilot

from screens.widgets.forms.answer_form import AnswerForm
from tests.console.app.console_bench import prompt_of
from tests.screens.pages.run_page import asks, edits, opened, shown
from tests.screens.waiting import press, until

TRIP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {
            "type": "string",
            "title": "Full [b]name",
            "description": "As in \x1b[31mit",
            "minLength": 2,
        },
        "seats": {"type": "integer", "minimum": 1, "maximum": 5, "default": 2},
        "vegan": {"type": "boolean", "default": False},
        "class": {"type": "string", "enum": ["e", "b"], "enumNames": ["Economy", "Business"], "default": "e"},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["wifi", "bag", "desk"]}, "maxItems": 2},
        "home": {"type": "object", "title": "Home", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "code": {"type": "string", "format": "password"},
        "more": {"type": "object"},
    },
    "required": ["name", "seats", "home"],
}


def form_of(pilot: Pilot[None]) -> AnswerForm:
    return pilot.app.screen.query_one(AnswerForm)


def entry_at(pilot: Pilot[None], name: str) -> Any:
    return next(row.entry for row in form_of(pilot).rows if row.field.name == name)


async def into_form(pilot: Pilot[None]) -> None:
    await until(pilot, lambda: prompt_of(pilot).armed)
    await press(pilot, "i", then=lambda: bool(form_of(pilot).rows) and form_of(pilot).rows[0].has_focus_within)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_question_for_an_object_is_a_form_filled_in_by_keys_alone(size: tuple[int, int]) -> None:
    async with opened(asks(TRIP, secret_key="k"), size=size) as (pilot, link):
        await into_form(pilot)
        assert shown(pilot, "Full [b]name")
        assert shown(pilot, "As in")
        await pilot.press(*"Ada", "enter", "backspace", "3", "enter", "y", "enter")
        await pilot.press("2", "enter", "space", "down", "down", "space", "enter")
        await until(pilot, lambda: entry_at(pilot, "home.city").has_focus)
        await until(pilot, lambda: shown(pilot, "Home"))
        await press(pilot, *"Lund", "enter", *"hunter2222", "enter", then=lambda: entry_at(pilot, "more").has_focus)
        assert not shown(pilot, "hunter2222")
        await press(pilot, *'{"x": 1}', "ctrl+s", then=lambda: bool(link.said))
        assert link.said[0][1]["params"] == {
            "value": {
                "name": "Ada", "seats": 3, "vegan": True, "class": "b", "extras": ["wifi", "desk"],
                "home": {"city": "Lund"}, "code": "hunter2222", "more": {"x": 1},
            }
        }  # fmt: skip
        assert form_of(pilot).rows == [], "the form is forgotten with its secret"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_tab_goes_from_field_to_field_and_then_to_the_next_pane(size: tuple[int, int]) -> None:
    async with opened(asks(TRIP), size=size) as (pilot, _):
        await into_form(pilot)
        for row in form_of(pilot).rows[1:]:
            await press(pilot, "tab", then=lambda row=row: row.has_focus_within)  # type: ignore[misc]
        await press(pilot, "shift+tab", then=lambda: form_of(pilot).rows[-2].has_focus_within)
        await press(pilot, "tab", "tab", then=lambda: not form_of(pilot).has_focus_within)


async def test_on_a_low_screen_it_is_said_how_to_send_and_what_is_wrong() -> None:
    about = (
        "A text that is too long for one line of a narrow terminal, and for two of them as well, and even for three."
    )
    fields = {name: {"type": "string", "description": about} for name in ("name", "town")}
    schema = {"type": "object", "properties": fields, "required": [*fields]}
    async with opened(asks(schema), size=(60, 15)) as (pilot, _):
        await into_form(pilot)
        await until(pilot, lambda: shown(pilot, "ctrl+s sends"))
        await press(pilot, "ctrl+s", then=lambda: shown(pilot, "2 to correct: name, town"))
        await until(pilot, lambda: shown(pilot, "is required"))


async def test_what_does_not_fit_is_said_below_its_field_and_mended_there() -> None:
    async with opened(asks(TRIP), size=(80, 24)) as (pilot, link):
        await into_form(pilot)
        await press(
            pilot,
            "A",
            "enter",
            "backspace",
            *"many",
            "ctrl+s",
            then=lambda: shown(pilot, "3 to correct: name, seats, home"),
        )
        await until(pilot, lambda: shown(pilot, "should have at least 2 characters"))
        assert entry_at(pilot, "name").has_focus
        assert link.said == []
        await press(pilot, *"da", "enter", then=lambda: shown(pilot, "should be a whole number, for example 2"))
        await press(pilot, *["backspace"] * 4, "2", "ctrl+s", then=lambda: entry_at(pilot, "home.city").has_focus)
        await until(pilot, lambda: shown(pilot, "is required, for example text"))
        await press(pilot, "L", "ctrl+s", then=lambda: bool(link.said))
        assert link.said[0][1]["params"] == {
            "value": {"name": "Ada", "seats": 2, "vegan": False, "class": "e", "home": {"city": "L"}}
        }


async def test_a_form_that_was_left_stands_there_again_without_its_secret() -> None:
    async with opened(asks(TRIP, secret_key="k")) as (pilot, link):
        await into_form(pilot)
        await pilot.press(*"Ada", "enter", "enter", "left", "left", "enter")
        entry_at(pilot, "code").focus()
        await pilot.press(*"hunter2222", "escape")
        await until(pilot, lambda: prompt_of(pilot).armed and prompt_of(pilot).mode == "choose")
        await into_form(pilot)
        await until(pilot, lambda: entry_at(pilot, "name").text == "Ada")
        assert entry_at(pilot, "code").value == ""
        assert link.said == []


async def test_all_fields_are_edited_as_json_in_the_operators_own_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "ed")
    texts = ["{oops", '{"name": "Bob", "seats": 4, "home": {"city": "Rome"}, "class": "b", "zip": 7}']
    began: list[str] = []

    def edit(_command: str, text: str, _suffix: str = "") -> str:
        began.append(text)
        return texts.pop(0)

    monkeypatch.setattr("screens.shell.external_editor.edit_text", edit)
    async with opened(asks(TRIP, secret_key="k")) as (pilot, link):
        monkeypatch.setattr(pilot.app, "suspend", nullcontext)
        await into_form(pilot)
        await pilot.press("A")
        entry_at(pilot, "code").focus()
        await press(pilot, *"hunter2222", "f4", then=lambda: shown(pilot, "should be JSON"))
        assert json.loads(began[0]) == {
            "name": "A", "seats": 2, "vegan": False, "class": "e", "home": {"city": ""},
        }  # fmt: skip
        await press(pilot, "f4", then=lambda: len(began) == 2 and entry_at(pilot, "home.city").text == "Rome")
        assert began[1] == "{oops"
        await press(pilot, "ctrl+s", then=lambda: bool(link.said))
        assert link.said[0][1]["params"]["value"] == {
            "name": "Bob", "seats": 4, "class": "b", "home": {"city": "Rome"}, "zip": 7, "code": "hunter2222",
        }  # fmt: skip


async def test_choices_with_titles_are_offered_by_their_titles_and_sent_by_value() -> None:
    union = {"oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]}
    async with opened(asks(union)) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await press(pilot, "i", then=lambda: shown(pilot, "Green"))
        await press(pilot, "down", "down", "enter", then=lambda: bool(link.said))
        assert link.said[0][1]["params"] == {"value": "g"}


async def test_an_address_to_open_is_shown_whole_with_its_host_and_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser.open", lambda *_: pytest.fail("an address was opened"))
    url = "https://bank.example@\x1b[2Jevil.example/pay?[b]=1"
    async with opened(asks({"type": "boolean"}, url=url), size=(120, 40)) as (pilot, _):
        await until(pilot, lambda: shown(pilot, "evil.example/pay?[b]=1"))
        await until(pilot, lambda: shown(pilot, "Host"))
        assert not shown(pilot, "\x1b[2J")


CALL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "token": {"type": "string", "format": "password"},
        "note": {"type": "string"},
        "loud": {"type": "boolean"},
        "mode": {"enum": ["w", "a"]},
        "to": {"type": "object", "properties": {"city": {"type": "string"}}},
        "text": {"type": "string"},
    },
    "required": ["token", "note"],
}


async def into_edit(pilot: Pilot[None]) -> None:
    await until(pilot, lambda: prompt_of(pilot).armed)
    await press(pilot, "e", then=lambda: bool(form_of(pilot).rows) and form_of(pilot).rows[0].has_focus_within)


async def test_arguments_that_are_not_edited_stay_what_they_were_of_whatever_type() -> None:
    given = {"token": "hunter2222", "note": "n", "loud": "loudly", "mode": "x", "to": None, "zip": [7]}
    story = edits({**CALL, "properties": {**CALL["properties"], "loud": {}, "mode": {}, "to": {}}}, **given)
    async with opened(story, size=(120, 40)) as (pilot, link):
        await into_edit(pilot)
        assert shown(pilot, "Change nothing yet")
        await press(pilot, "enter", "!", "ctrl+s", then=lambda: bool(link.said))
        assert link.said[0][1]["params"] == {"arguments": {**given, "note": "n!"}}


async def test_an_argument_of_the_wrong_type_is_shown_and_mended() -> None:
    story = edits(CALL, token="hunter2222", note="n", loud="loudly", mode="x", to={"city": "Lund"})
    async with opened(story, size=(120, 50)) as (pilot, link):
        await into_edit(pilot)
        assert shown(pilot, "(x) loudly")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: shown(pilot, "2 to correct: loud, mode") and entry_at(pilot, "loud").has_focus)
        await pilot.press("y", "enter", "1")
        await until(pilot, lambda: shown(pilot, "- loud = loudly") and shown(pilot, "+ loud = true"))
        await press(pilot, "ctrl+s", then=lambda: bool(link.said))
        assert link.said[0][1]["params"]["arguments"] == {
            "token": "hunter2222", "note": "n", "loud": True, "mode": "w", "to": {"city": "Lund"}
        }  # fmt: skip


async def test_a_secret_argument_is_never_shown_and_an_emptied_text_is_an_empty_text() -> None:
    async with opened(edits(CALL, token="hunter2222", note="n", text="a\nb"), size=(120, 50)) as (pilot, link):
        await into_edit(pilot)
        entry = entry_at(pilot, "token")
        assert (entry.value, entry.placeholder) == ("", "stays as it is, unless another is typed")
        await press(pilot, *"correct-horse", "enter", "backspace", then=lambda: shown(pilot, "+ token = (not shown)"))
        await until(pilot, lambda: shown(pilot, "- note = n"))
        assert not shown(pilot, "correct-horse")
        await press(pilot, "ctrl+s", then=lambda: bool(link.said))
        assert link.said[0][1]["params"]["arguments"] == {"token": "correct-horse", "note": "", "text": "a\nb"}


async def test_enter_says_what_it_does_in_a_form_of_one_field_and_sends_no_text_that_was_emptied() -> None:
    url = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
    async with opened(edits(url, url="x")) as (pilot, link):
        await into_edit(pilot)
        await until(pilot, lambda: shown(pilot, "enter sends"))
        assert not shown(pilot, "goes on")
        await pilot.press("backspace", "enter")
        await until(pilot, lambda: shown(pilot, "Empty, and needed: url. ctrl+s sends it so."))
        assert link.said == []
        await press(pilot, "ctrl+s", then=lambda: bool(link.said))
        assert link.said[0][1]["params"]["arguments"] == {"url": ""}


async def test_a_text_of_several_lines_is_edited_as_it_is_in_the_operators_own_editor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VISUAL", "ed")
    began: list[str] = []

    def edit(_command: str, text: str, _suffix: str = "") -> str:
        began.append(text)
        return f"{text}\nc" if text == "a\nb" else text

    monkeypatch.setattr("screens.shell.external_editor.edit_text", edit)
    async with opened(edits(CALL, token="hunter2222", note="n", text="a\nb"), size=(120, 50)) as (pilot, link):
        monkeypatch.setattr(pilot.app, "suspend", nullcontext)
        await into_edit(pilot)
        await press(pilot, "f4", then=lambda: len(began) == 1)
        assert json.loads(began[0]) == {"note": "n", "text": "a\nb"}
        entry_at(pilot, "text").focus()
        await press(pilot, "f4", then=lambda: entry_at(pilot, "text").text == "a\nb\nc")
        await press(pilot, "ctrl+s", then=lambda: bool(link.said))
        assert link.said[0][1]["params"]["arguments"] == {"token": "hunter2222", "note": "n", "text": "a\nb\nc"}
