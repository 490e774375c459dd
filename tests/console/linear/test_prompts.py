"""What the linear mode asks for an option, and what becomes of each way to answer it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from console.linear.entries import GoBack
from console.linear.prompts import read_params
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.recovery.options import make_option
from runtime.operations.answer_params import checked_params
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Origin,
    Persistence,
)

FAULT = Classification(origin=Origin.TOOL, cause=Cause.NETWORK, persistence=Persistence.TRANSIENT)
SEVERAL = {"type": "array", "items": {"enum": ["a", "b", "c"]}}
PICKS: dict[str, Any] = {"enum": ["red", "green", 7]}
FORM = {"type": "object", "properties": {"n": {"type": "integer"}}}


def asked_of(**more: Any) -> ev.IncidentOpened:
    offered = tuple(make_option(each) for each in OPTIONS)
    action = {"permission": "fs.write:/data/x", "arguments": {"path": "x"}}
    return ev.IncidentOpened(incident_id="i", fault=FAULT, options=offered, action=action, **more)


class Terminal:
    """A person who types these lines, and whose editor leaves these texts."""

    def __init__(self, *lines: str | None, editor: str = "", texts: tuple[str, ...] = ()) -> None:
        self.lines = list(lines)
        self.editor = editor
        self.texts = list(texts)
        self.began: list[tuple[str, str]] = []
        self.questions: list[str] = []
        self.hidden: list[bool] = []

    async def __call__(self, question: str, *, secret: bool = False) -> str | None:
        self.questions.append(question)
        self.hidden.append(secret)
        return self.lines.pop(0)

    async def edit(self, text: str, suffix: str) -> str:
        self.began.append((text, suffix))
        return self.texts.pop(0)


async def given(option_id: str, *lines: str | None, **more: Any) -> dict[str, Any]:
    terminal = Terminal(*lines)
    found = await read_params(asked_of(**more), make_option(option_id), terminal)
    assert not terminal.lines, f"never asked for {terminal.lines}"
    return found


async def said_of(option_id: str, line: str, **more: Any) -> str:
    """What is said of a line that cannot be used, before the same question is put again."""
    terminal = Terminal(line, ".")
    with pytest.raises(GoBack):
        await read_params(asked_of(**more), make_option(option_id), terminal)
    first, second = terminal.questions
    assert second.endswith(first)
    return second.removesuffix(first)


WRONG: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("input", "9", {"answer_schema": {"enum": [1, 2]}, "question": "seats?"}, "should be", "2"),
    ("input", "1, 9", {"answer_schema": {"type": "array", "items": {"enum": [1, 2]}}, "question": "?"}, "should", "1"),
    ("input", "many", {"answer_schema": {"type": "integer"}, "question": "how many?"}, "integer", "3"),
    ("result", "x", {"result_schema": {"type": "number"}}, "number", "2.5"),
    ("edit", "{", {}, "not JSON", "{}"),
    ("edit", '{"path": 5}', {"arguments_schema": {"properties": {"path": {"type": "string"}}}}, "string", "{}"),
    ("wait_retry", "soon", {}, "seconds", "5"),
    ("extend", "-2", {}, "amount", "2"),
    ("grant", "forever", {}, "is not one of these", "once"),
    ("skip", "@/nowhere/at/all", {}, "no such file", "x"),
]


@pytest.mark.parametrize(("option_id", "wrong", "more", "said", "right"), WRONG)
async def test_a_wrong_value_asks_the_same_question_again(
    option_id: str, wrong: str, more: dict[str, Any], said: str, right: str
) -> None:
    assert said in await said_of(option_id, wrong, **more)
    terminal = Terminal(wrong, right)
    asked = asked_of(**more)
    checked_params(asked, option_id, await read_params(asked, make_option(option_id), terminal))


async def test_a_wrong_end_of_a_grant_asks_for_the_end_again() -> None:
    terminal = Terminal("run", "", "", "soon", "7d")
    found = await read_params(asked_of(), make_option("grant"), terminal)
    assert found == {"for": "run", "until": "7d"}
    assert "until when" in terminal.questions[4]


async def test_what_the_desk_refused_is_said_before_the_question_of_the_same_option() -> None:
    terminal = Terminal("openai:gpt-5")
    await read_params(asked_of(), make_option("switch_model"), terminal, "unknown provider 'x'")
    assert terminal.questions[0].startswith("unknown provider 'x'. model, as provider:name")


@pytest.mark.parametrize(
    ("option_id", "lines", "more", "expected"),
    [
        ("retry", [], {}, {}),
        ("accept", [], {}, {}),
        ("reset", [], {}, {}),
        ("acknowledge", [], {}, {}),
        ("wait_retry", [""], {}, {}),
        ("wait_retry", ["90"], {}, {"seconds": "90"}),
        ("extend", ["2.5"], {}, {"amount": "2.5"}),
        ("switch_model", ["openai:gpt-5"], {}, {"model": "openai:gpt-5"}),
        ("edit", ['{"path": "y"}'], {}, {"arguments": {"path": "y"}}),
        ("input", ["a line"], {}, {"value": "a line"}),
        ("input", ['""'], {}, {"value": ""}),
        ("input", ["@@home"], {}, {"value": "@home"}),
        ("input", ["2"], {"answer_schema": PICKS}, {"value": "green"}),
        ("input", ["red"], {"answer_schema": PICKS}, {"value": "red"}),
        ("input", ["7"], {"answer_schema": PICKS}, {"value": 7}),
        ("input", ["1, c"], {"answer_schema": SEVERAL}, {"value": ["a", "c"]}),
        ("input", ['""'], {"answer_schema": SEVERAL}, {"value": []}),
        ("input", ["no"], {"answer_schema": {"type": "boolean"}}, {"value": "no"}),
        ("result", ['{"n": 7}'], {"result_schema": FORM}, {"value": {"n": 7}}),
        ("result", ["7"], {"result_schema": FORM}, {"value": {"n": 7}}),
        ("skip", [""], {}, {}),
        ("skip", ['""'], {}, {"value": ""}),
        ("deny", ["use /tmp"], {}, {"message": "use /tmp"}),
        ("abort", [""], {}, {}),
        ("grant", ["once"], {}, {"for": "once"}),
        ("grant", ["run", "", "", ""], {}, {"for": "run"}),
        ("grant", ["swarm", "*", "", "7d"], {}, {"for": "swarm", "subject": "*", "until": "7d"}),
    ],
)  # fmt: skip
async def test_what_is_typed_is_what_the_desk_takes(
    option_id: str, lines: list[str], more: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = await given(option_id, *lines, **more)
    assert found == expected
    question = {"question": "which?"} if "answer_schema" in more else {}
    checked_params(asked_of(**more, **question), option_id, found)  # raises if `Decisions` would not


@pytest.mark.parametrize("option_id", ["input", "result", "edit", "switch_model", "grant"])
async def test_enter_alone_decides_nothing_where_something_is_needed(option_id: str) -> None:
    with pytest.raises(GoBack):
        await given(option_id, "")


@pytest.mark.parametrize("option_id", sorted(set(OPTIONS) - {"retry", "accept", "reset", "acknowledge"}))
@pytest.mark.parametrize("line", [".", None])
async def test_a_dot_goes_back_from_everything_and_so_does_the_end_of_input(option_id: str, line: str | None) -> None:
    with pytest.raises(GoBack):
        await given(option_id, line)


async def test_a_standing_grant_can_be_left_at_each_of_its_questions() -> None:
    for lines in (("run", "."), ("run", "", "."), ("run", "", "", None)):
        with pytest.raises(GoBack):
            await given("grant", *lines)


async def test_a_file_is_read_as_text_or_as_base64_and_said_to_be_unusable(tmp_path: Path) -> None:
    path, raw = tmp_path / "answer", tmp_path / "raw"
    path.write_text("line one\nline two\n")
    raw.write_bytes(b"\xff\xfe")
    assert await given("result", f"@{path}") == {"value": "line one\nline two\n"}
    binary = {"type": "string", "contentEncoding": "base64"}
    encoded = base64.b64encode(b"\xff\xfe").decode()
    assert await given("input", f"@{raw}", answer_schema=binary) == {"value": encoded}
    for line, said in ((f"@{tmp_path / 'nowhere'}", "no such file"), (f"@{raw}", "is not UTF-8 text")):
        assert said in await said_of("result", line)
    for line, said in (("{", "not JSON"), ("[1]", "no object")):
        assert said in await said_of("edit", line)


async def test_a_secret_is_not_shown_and_stands_for_no_file() -> None:
    terminal = Terminal("@hunter2")
    schema = {"type": "string", "format": "password"}
    assert await read_params(asked_of(answer_schema=schema), make_option("input"), terminal) == {"value": "@hunter2"}
    assert terminal.hidden == [True]


PATHS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


async def test_arguments_are_edited_in_ones_own_editor_and_what_is_wrong_is_edited_on() -> None:
    wrong = ("{", '{"path": 5}', '{"path": "y"}')
    terminal = Terminal("@", "", "", editor="vim -n", texts=wrong)
    found = await read_params(asked_of(arguments_schema=PATHS), make_option("edit"), terminal)
    assert found == {"arguments": {"path": "y"}}
    assert terminal.began == [('{\n  "path": "x"\n}', ".json"), ("{", ".json"), ('{"path": 5}', ".json")]
    assert "@: in vim" in terminal.questions[0]
    assert "not JSON" in terminal.questions[1]
    assert "'path': should be of type string" in terminal.questions[2]
    assert "Your text is kept" in terminal.questions[2]


async def test_what_is_left_as_it_was_decides_nothing_and_neither_does_going_back() -> None:
    with pytest.raises(GoBack):
        await read_params(asked_of(), make_option("edit"), Terminal("@", editor="vi", texts=('{\n  "path": "x"\n}',)))
    with pytest.raises(GoBack):
        await read_params(asked_of(), make_option("edit"), Terminal("@", ".", editor="vi", texts=("{",)))
    with pytest.raises(GoBack):
        await read_params(asked_of(), make_option("result"), Terminal("@", editor="vi", texts=("",)))


async def test_long_texts_are_edited_too_and_without_an_editor_none_is_offered() -> None:
    for option_id, name in (("result", "value"), ("skip", "value"), ("deny", "message")):
        terminal = Terminal("@", editor="vi", texts=("one\ntwo",))
        assert await read_params(asked_of(), make_option(option_id), terminal) == {name: "one\ntwo"}
    terminal = Terminal("@", "", editor="vi", texts=("seven", "7"))
    asked = asked_of(result_schema={"type": "integer"})
    assert await read_params(asked, make_option("result"), terminal) == {"value": "7"}
    for option_id in ("result", "edit", "deny"):
        terminal = Terminal("@", ".")
        with pytest.raises(GoBack):
            await read_params(asked_of(), make_option(option_id), terminal)
        assert "@:" not in terminal.questions[0]
        assert "path of a file" in terminal.questions[1]


@pytest.mark.parametrize(("secret", "said"), [("4711", "only where it stands by itself"), ("471", "not masked")])
async def test_whoever_types_a_short_secret_is_told_what_that_means_and_may_go_back(secret: str, said: str) -> None:
    asked = asked_of(answer_schema={"type": "string", "format": "password"})
    terminal = Terminal(secret, "")
    assert await read_params(asked, make_option("input"), terminal) == {"value": secret}
    assert said in terminal.questions[1]
    with pytest.raises(GoBack):
        await read_params(asked, make_option("input"), Terminal(secret, "."))


async def test_the_question_shows_what_there_is_to_choose_and_to_change() -> None:
    terminal = Terminal("1")
    await read_params(asked_of(answer_schema=PICKS), make_option("input"), terminal)
    assert "[1] red, [2] green, [3] 7" in terminal.questions[0]
    terminal = Terminal("{}")
    await read_params(asked_of(), make_option("edit"), terminal)
    assert '{"path": "x"}' in terminal.questions[0]


# -- forms -------------------------------------------------------------------------------------------------------------

TRIP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Full name", "description": "As in the passport", "minLength": 2},
        "seats": {"type": "integer", "minimum": 1, "default": 2},
        "class": {"enum": ["e", "b"], "enumNames": ["Economy", "Business"]},
        "extras": {"type": "array", "items": {"enum": ["wifi", "bag"]}},
        "code": {"type": "string", "format": "password"},
    },
    "required": ["name", "seats"],
}


async def test_a_form_is_asked_field_by_field_and_a_field_that_does_not_fit_again() -> None:
    terminal = Terminal("A", "Ada", "none", "0", "3", "2", "1, bag", "hunter22")
    found = await read_params(asked_of(answer_schema=TRIP, question="?"), make_option("input"), terminal)
    assert found == {"value": {"name": "Ada", "seats": 3, "class": "b", "extras": ["wifi", "bag"], "code": "hunter22"}}
    asked = terminal.questions
    assert asked[0] == (
        "5 fields; all of them as JSON: {…}. Full name [name]: As in the passport; text, 2 characters or more"
        ' (needed; Enter: back, "": an empty text, @path: a file, .: back):'
    )
    assert asked[1].startswith("'name': should have at least 2 characters, got 'A', for example text. Full name")
    assert "a whole number, 1 or more (Enter: 2, .: back)" in asked[2]
    assert asked[3].startswith("'seats': should be a whole number, for example 2. ")
    assert asked[4].startswith("'seats': should be at least 1, got 0, for example 2. ")
    assert "[1] Economy (e), [2] Business (b); a number or its word (Enter: left out" in asked[5]
    assert terminal.hidden == [False] * 7 + [True]


async def test_enter_takes_the_default_or_leaves_a_field_out_and_goes_back_from_one_that_is_needed() -> None:
    found = await given("input", "Ada", "", "", "", "", answer_schema=TRIP, question="?")
    assert found == {"value": {"name": "Ada", "seats": 2}}
    with pytest.raises(GoBack):
        await given("input", "", answer_schema=TRIP, question="?")


async def test_a_whole_form_is_given_as_json_or_from_the_editor() -> None:
    whole = {"name": "Ada", "seats": 1}
    assert await given("input", json.dumps(whole), answer_schema=TRIP, question="?") == {"value": whole}
    terminal = Terminal("@", "", editor="ed", texts=('{"name": "A", "seats": 1}', json.dumps(whole)))
    found = await read_params(asked_of(answer_schema=TRIP, question="?"), make_option("input"), terminal)
    assert found == {"value": whole}
    assert json.loads(terminal.began[0][0]) == {"name": "", "seats": 2}
    assert "'name': should have at least 2 characters" in terminal.questions[1]
