"""Permissions, limits, workers, audit: what they show, what their keys do, what they look like."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from runtime.link.client.client import LinkError
from runtime.operations.requests.codec import decode_struct
from runtime.operations.requests.permissions import Permissions
from runtime.record.state import events as ev
from screens.dialogs.batch_action import BatchActionScreen
from screens.pages.audit import AuditScreen
from screens.pages.grants import GrantsScreen
from screens.pages.limits import LimitsScreen
from screens.pages.run import RunScreen
from screens.render.layout import plain_text
from screens.views.lists.grants import HostPermissions, grant_words, ledger_rows
from screens.views.run.node_names import path_words
from screens.views.run.tree import RunTree
from screens.views.shared.render_context import RenderContext
from tests.screens.desk_data import (
    AUDIT,
    BREAKERS,
    BUDGETS,
    GRANTS,
    PERMISSIONS,
    RULES,
    WORKERS,
    app_on,
    filled,
    shown,
    text,
    use,
)
from tests.screens.stories import START, Story
from tests.screens.waiting import changed, drawn, press, until
from tests.screens.widgets.test_live_widgets import screen_text

SIZES = [pytest.param((80, 24), id="80x24"), pytest.param((120, 40), id="120x40")]
HOSTILE = "evil\x1b]0;owned\x07\x1b[31m[/x][@click=app.quit]\u202e\nforged line"
Compare = Callable[..., bool]
pytestmark = pytest.mark.usefixtures("in_greenwich")


# -- permissions -------------------------------------------------------------------------------------------------------


async def test_the_ledger_shows_grants_uses_denials_and_rules() -> None:
    async with app_on(filled()).run_test(size=(120, 40)) as pilot:
        await pilot.press("3")
        await shown(pilot, "Grants in force", "Lately used or denied", "Rules of orbiter.toml", "orbiter.toml:4")
        said = text(pilot)
        assert "fs.write:/etc/passwd" in said
        assert "after a restart" in said
        assert "researcher may fs.write:/data/out/**, run run-1" in said
        await shown(pilot, "3 uses; granted by ada (console)")


async def test_a_grant_is_taken_back_after_its_words_were_shown_and_goes_with_its_event() -> None:
    link = filled()
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then="api.example.com:443")
        await press(pilot, "x", then=("Take back 1 grant?", "researcher may fs.write:/data/out/**, run run-1"))
        await pilot.press("enter", "escape")
        assert link.said == []
        await press(pilot, "D", "y", then="taken back")
        assert link.said == [("revoke", {"grant_id": "g-1"})]
        await pilot.press("escape")
        assert "/data/out/**" in text(pilot), "it stands there until its event has come"
        link.gone("g-1")
        await until(pilot, lambda: "/data/out/**" not in text(pilot))
        assert "api.example.com:443" in text(pilot)


async def test_several_grants_are_taken_back_together_and_a_refusal_is_told() -> None:
    link = filled()
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then="api.example.com:443")
        await pilot.press("space", "space", "x")
        await shown(pilot, "Take back 2 grants?", "every agent may net:api.example.com:443, always until")
        del link.grants["g-2"]
        await press(pilot, "y", then=("1 taken back, 1 refused", "grant g-2 is", "not in force"))


async def test_from_a_grant_to_its_uses_and_on_to_the_run_and_back() -> None:
    async with app_on(filled()).run_test(size=(80, 24)) as pilot:
        await press(pilot, "3", then="fs.write:/data/out/")
        assert not pilot.app.screen.query_one("#uses").display or pilot.app.screen.query_one("#detail").size.height == 0
        await press(pilot, "enter", then=("3 uses; granted by", "fs.write:/data/out/a.md"))
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, GrantsScreen)
        await press(pilot, "enter", "enter", then=RunScreen)
        await press(pilot, "left_square_bracket", then=GrantsScreen)


async def test_a_recent_use_leads_to_its_run_and_a_rule_says_where_it_stands() -> None:
    async with app_on(filled()).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then="Rules of orbiter.toml")
        await press(pilot, "slash", *"shell", "enter", then=lambda: "passwd" not in text(pilot))
        await press(pilot, "end", "enter", then="This rule stands in /home/ada/digest/orbiter.toml:4")
        await press(pilot, "escape", "F", then=lambda: "api.example.com" not in text(pilot))
        await press(pilot, "home", "enter", then=RunScreen)


async def test_a_viewer_is_told_why_nothing_is_taken_back_or_reset() -> None:
    link = filled()
    link.role = "viewer"
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then="api.example.com:443")
        await press(pilot, "x", then="A viewer may look, not act")
        await press(pilot, "4", then="openai:gpt-4o")
        await press(pilot, "t", then="A viewer may look, not act")
        assert link.said == []


async def test_nothing_is_asked_again_while_nothing_changes_and_replies_are_no_change() -> None:
    asked: list[int] = []

    def permissions(*, seen: int = -1) -> dict[str, Any]:
        asked.append(seen)
        return PERMISSIONS if seen != 7 else {"version": 7}

    link = filled(permissions=permissions)
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then=("orbiter.toml:4", "3 uses; granted by"))
        for listener in list(link._listeners):
            listener()  # a reply came in, the picture is the same
        await pilot.pause(0.1)
        before = len(asked)
        screen = pilot.app.screen
        assert isinstance(screen, GrantsScreen)
        assert not screen._asker._stale
        screen._asker._free_at = 0.0
        await changed(pilot, link, then=lambda: len(asked) == before + 1)
        assert asked[-1] == 7
        assert "orbiter.toml:4" in text(pilot)


async def test_a_runtime_that_cannot_answer_is_said_and_nothing_breaks() -> None:
    link = filled(permissions=LinkError("no command is called 'permissions'"), breakers=[{"id": 1}])
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then=("no command is called 'permissions'", "fs.write:/data/out/**"))
        await press(pilot, "4", then="the answer to 'breakers' cannot be read: id: Expected `str`, got `int`")
        assert isinstance(pilot.app.screen, LimitsScreen)


def test_hosts_stand_before_names_and_hostile_words_are_tamed() -> None:
    grant = replace(GRANTS[0], subject=HOSTILE, pattern=HOSTILE)
    context = RenderContext(START)
    known = HostPermissions(
        "build",
        decode_struct(Permissions, {**PERMISSIONS, "recent": [use("policy", HOSTILE, 1, by=HOSTILE, node_id=HOSTILE)]}),
    )
    rows = ledger_rows({"g-1": grant}, [known], context)
    pieces = [piece.text for row in rows for cell in row.cells for piece in cell]
    assert all(piece.isprintable() for piece in pieces)
    assert pieces.count("build") == 1 + 1 + len(RULES)
    assert grant_words(grant, context).isprintable()


ALIKE = (
    "reader",
    "r\u00e9ader",
    "re\u0301ader",
    "re\u0430der",
    "reader\u200b",
    "read\u00a0er",
    "read er",
    "\uff52eader",
    "\u202ereader",
)
"""Names that look alike on a terminal."""


def test_names_that_look_alike_can_be_told_apart() -> None:
    story = Story()
    root = story.begin()
    nodes = [story.open("agent", name, root, at) for at, name in enumerate(ALIKE)]
    tree = RunTree(story.state, context := RenderContext(START))
    for names in (
        [grant_words(replace(GRANTS[0], subject=name, pattern=name), context) for name in ALIKE],
        [path_words(node, context) for node in nodes],
        ["".join(map(plain_text, tree.row(node).cells)) for node in nodes],
    ):
        seen = [unicodedata.normalize("NFKC", line).replace("\u0430", "a") for line in names]
        assert len(set(seen)) == len(ALIKE)


@pytest.mark.parametrize("theme", ["orbiter-dark", "orbiter-ansi-dark", "orbiter-ansi-light"])
async def test_behind_a_dialog_its_screen_is_seen_with_every_theme(theme: str) -> None:
    async with app_on(filled(), theme=theme).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then="Grants in force")
        await press(pilot, "x", then="Take back 1 grant?")
        assert "Grants in force" in text(pilot)


# -- limits -----------------------------------------------------------------------------------------------------------


async def test_breakers_count_down_and_budgets_show_what_is_near() -> None:
    link = filled()
    story = link.stories["run-1"]
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await shown(
            pilot, "next test call in 43s", "one test call is out", "closed", "100% 4.0k of 4.0k", "used up", "near"
        )
        assert "1 call unpriced" in text(pilot)
        assert "2 breakers hold calls back" in text(pilot)
        assert "no limit" in text(pilot)
        story.wait(30)
        await shown(pilot, "next test call in 13s")
        story.wait(30)
        await shown(pilot, "next call is a test")


async def test_a_breaker_is_closed_after_a_question_and_asked_about_again() -> None:
    link = filled()
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "4", then="model openai:gpt-4o")
        await press(pilot, "t", then="Close 1 breaker? Calls go out again at once.")
        link.answers["breakers"] = [{**BREAKERS[0], "state": "closed", "failures": 0, "again_s": None}]
        await press(pilot, "y", then=lambda: link.said == [("reset", {"key": "model:openai:gpt-4o"})])
        await press(pilot, "escape", then=lambda: "next test call" not in text(pilot))


async def test_extending_opens_the_decision_that_waits_for_it() -> None:
    async with app_on(filled()).run_test(size=(120, 40)) as pilot:
        await press(pilot, "4", then="used up")
        await press(pilot, "slash", *"steps", "enter", "e", then="Nothing waits for more of this budget")
        await press(pilot, "escape", "slash", *"used up", "enter", "e", then=RunScreen)
        assert isinstance(pilot.app.screen, RunScreen)
        await until(pilot, lambda: pilot.app.screen.incident_id == "run-1-inc-1")  # type: ignore[attr-defined]


# -- workers -----------------------------------------------------------------------------------------------------------


async def test_workers_are_listed_and_a_run_without_one_is_moved_after_a_question() -> None:
    link = filled()
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await pilot.press("8")
        await shown(
            pilot, "Runs without a worker", "waits for a worker with code 'v1'", "1 of 8", "the disk is full", "lost",
            "keys: OPENAI_API_KEY", "1 worker at work", "1 of 8 slots in use",
        )  # fmt: skip
        await press(pilot, "m", then="Move 1 run to code v2? Steps that are recorded are not done again.")
        link.answers["workers"] = {**WORKERS, "unserved": []}
        await press(pilot, "y", then=lambda: link.said == [("move", {"run_id": "run-9", "code": "v2"})])
        await press(pilot, "escape", then=lambda: "Runs without a worker" not in text(pilot))


# -- audit -------------------------------------------------------------------------------------------------------------


async def test_the_audit_says_who_decided_what_and_how_long_it_took() -> None:
    async with app_on(filled()).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", "a", then=AuditScreen)
        await shown(pilot, "answered: Grant permission", "1m05s", "it is its own folder", "bob")
        lines = [line for line in screen_text(pilot.app) if "ada" in line or "bob" in line]
        assert "aborted" in lines[0], "newest first"
        await press(pilot, "down", then="write_file needs fs.write:/data/out/digest.md")
        await press(pilot, "slash", *"bob", "enter", then=lambda: "it is its own folder" not in text(pilot))
        await press(pilot, "enter", then="about the workspace")
        await press(pilot, "escape", "home", "down", "enter", then=RunScreen)


async def test_hostile_words_in_every_pane_leave_the_screen_whole() -> None:
    story = Story("run-5", HOSTILE)
    root = story.begin(HOSTILE)
    node = story.open("agent", HOSTILE, root)
    story.tell(ev.Warned(text=HOSTILE), node)
    link = filled(
        permissions={**PERMISSIONS, "recent": [use("policy", HOSTILE, 1)], "rules": [{**RULES[0], "source": HOSTILE}]},
        breakers=[{**BREAKERS[0], "id": HOSTILE, "error": HOSTILE}],
        budgets=[{**BUDGETS[1], "title": HOSTILE}],
        workers={
            "workers": [{**each, "place": HOSTILE, "held_up": HOSTILE, "code": HOSTILE} for each in WORKERS["workers"]],
            "unserved": [{"code": HOSTILE, "runs": [HOSTILE]}],
        },
        audit=[{**AUDIT[1], "person": HOSTILE, "reason": HOSTILE, "asked": HOSTILE, "params": {HOSTILE: HOSTILE}}],
        logfile={"path": HOSTILE, "began": 0, "end": 9, "text": HOSTILE + "\n"},
    )
    link.stories["run-5"] = story
    link.grants = {"g-1": replace(GRANTS[0], pattern=HOSTILE, subject=HOSTILE)}
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        for keys in (("3",), ("x",), ("escape", "4"), ("7",), ("8",), ("5",), ("enter",), ("escape", "v")):
            await press(pilot, *keys, then="evil")
            said = text(pilot)
            assert all(char.isprintable() or char == "\n" for char in said)
            forged = any(line.lstrip().startswith("forged line") for line in said.split("\n"))
            assert forged is (keys[-1] == "v"), "only the lines of a file are lines"
            if isinstance(pilot.app.screen, BatchActionScreen):
                assert "[@click" in said


# -- several hosts -----------------------------------------------------------------------------------------------------


async def test_on_several_hosts_each_is_asked_each_row_says_where_and_acts_go_there() -> None:
    asked: list[tuple[str, str]] = []

    def told(verb: str, answer: Any) -> Callable[..., Any]:
        def tell(*, where: str, **_: Any) -> Any:
            asked.append((verb, where))
            return answer

        return tell

    answers = {"permissions": PERMISSIONS, "breakers": BREAKERS[:1], "budgets": BUDGETS[:1], "audit": AUDIT[:1]}
    link = filled(**{verb: told(verb, answer) for verb, answer in answers.items()})
    link.host_names = ("build", "lab")
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then=("build · re", "lab · re"))
        await press(pilot, "4", then=("build · model", "lab · model"))
        await pilot.press("down", "t", "y")
        await until(pilot, lambda: link.said == [("reset", {"where": "lab", "key": "model:openai:gpt-4o"})])
        await press(pilot, "escape", "7", then=("build · bob", "lab · bob"))
        await press(pilot, "5", then=("build · weekly digest", "lab · weekly digest"))
    assert {where for _, where in asked} == {"build", "lab"}
    assert {verb for verb, _ in asked} == set(answers)


# -- looks -------------------------------------------------------------------------------------------------------------


def opening(key: str, word: str, *more_keys: str) -> Callable[[Pilot[Any]], Any]:
    async def run(pilot: Pilot[Any]) -> None:
        await pilot.press(key)
        await shown(pilot, word)
        if more_keys:
            await pilot.press(*more_keys)
        await drawn(pilot)

    return run


VIEWS = [
    pytest.param(opening("3", "everything else"), id="permissions"),
    pytest.param(opening("4", "next test call"), id="limits"),
    pytest.param(opening("5", "incident run-1", "up", "up"), id="log"),
    pytest.param(opening("7", "answered"), id="audit"),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("view", VIEWS)
def test_pictures(snap_compare: Compare, size: tuple[int, int], view: Callable[[Pilot[Any]], Any]) -> None:
    assert snap_compare(app_on(filled()), terminal_size=size, run_before=view)


@pytest.mark.parametrize("kind", ["light", "ascii"])
def test_pictures_in_other_looks(snap_compare: Compare, kind: str) -> None:
    app = app_on(filled(), ascii_only=kind == "ascii", theme="orbiter-light" if kind == "light" else "orbiter-dark")
    assert snap_compare(app, terminal_size=(80, 24), run_before=VIEWS[1].values[0])
