"""Every key that is named on a screen is the one that works: the usual one is that of the bindings, and one that was
given another key is named by that.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from console.app.app import OrbiterApp
from console.preferences.keymap import build_keymap
from console.preferences.schema import Preferences
from screens.dialogs.help import help_groups
from screens.render.key_names import key_in_words
from screens.render.layout import plain_text
from screens.shell.context import ConsoleContext
from screens.shell.key_actions import actions
from screens.views.shared.key_columns import KeyGroup, KeyLine, key_columns
from screens.views.shared.render_context import RenderContext
from screens.widgets.editor import SecretInput
from tests.console.app.console_bench import settled, text_of
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import START, digest
from tests.screens.waiting import until

ROOT = Path(__file__).parent.parent.parent
MOVED = {
    "help.close": "[", "palette.close": "f8", "start.start": "f9", "start.next": "f7", "start.empty": "f6",
    "start.leave": "f8", "ask.leave": "x", "ask.yes": "j", "app.up": "f8", "list.open": "f5",
    "app.swarms": "f12", "swarms.start": "N", "alike.leave": [], "editor.send": "f9",
}  # fmt: skip


def named() -> list[tuple[str, str]]:
    """Each `….key("action", "usual")` of the sources."""
    sources = [*(ROOT / "screens").rglob("*.py"), *(ROOT / "console").rglob("*.py")]
    calls = (node for path in sources for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return [
        (str(call.args[0].value), str(call.args[1].value))
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "key" and len(call.args) == 2
        and isinstance(call.args[0], ast.Constant) and isinstance(call.args[1], ast.Constant)
    ]  # fmt: skip


def test_what_is_named_as_the_usual_key_is_the_one_of_the_binding() -> None:
    usual = {action.id: [key_in_words(key) for key in action.keys] for action in actions()}
    found = named()
    assert len(found) > 20
    assert [(name, key) for name, key in found if usual[name][0] != key] == []


def test_an_action_without_a_key_is_not_hinted_at() -> None:
    context = RenderContext(START, keys={"help.close": ""})
    assert context.hints((context.key("help.close", "esc"), "closes"), ("y", "does it")) == "y does it"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (("question_mark",), "[ closes"),
        (("colon",), "enter does it   f8 closes"),
        (("f12", "N"), "f9 starts   f7 next   f6 clears   f8 leaves"),
        (("n", "A", "enter"), "j: "),
        (("n", "A"), ", x leaves it"),
        (("slash", *"zzz", "enter"), "Nothing matches. f8 shows all."),
    ],
)
async def test_a_key_that_was_moved_is_named_by_the_one_that_works(keys: tuple[str, ...], words: str) -> None:
    link = MemoryLink(digest())
    session = ConsoleContext(link, clock=lambda: link.now, arm_after=0.0)
    moved = build_keymap(actions(), MOVED)
    app: Any = OrbiterApp(session, preferences=Preferences(keymap=moved))
    async with app.run_test(size=(110, 34)) as pilot:
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)
        await until(pilot, lambda: words in text_of(pilot))


def test_what_the_keys_of_a_group_do_stands_in_one_column() -> None:
    group = KeyGroup("In lists", (KeyLine(("home",), "First"), KeyLine(("pgdn", "ctrl+f"), "Page down")))
    lines = [plain_text(line) for line in key_columns([group], 40)]
    assert lines == ["In lists", "home        First", "pgdn ctrl+f Page down"]


@pytest.mark.parametrize("run_id", ["", "run-1"])
async def test_help_begins_with_what_this_screen_is_for(run_id: str) -> None:
    link = MemoryLink(digest())
    app: Any = OrbiterApp(ConsoleContext(link, clock=lambda: link.now, arm_after=0.0), run_id=run_id)
    async with app.run_test(size=(110, 60)) as pilot:
        await settled(pilot)
        groups = help_groups(app.screen, deciding=app.screen.decision_keys)
    titles = [group.title for group in groups]
    deciding = ["This decision"]
    assert titles[:2] == (deciding if run_id else []) + ["Here"] + ([] if run_id else ["Acts on runs"])
    assert titles.index("In the prompt" if run_id else "In lists") > titles.index("Everywhere")
    first = next(group for group in groups if group.title == "Here")
    keys = [line.keys[0] for line in first.lines]
    assert [key for key in (":", "?", "q") if key not in keys] == []
    assert ("n" in keys) is not bool(run_id), "where no other decision waits, n leads nowhere"
    assert all(len(line.keys) == 1 for line in first.lines), "one key each"


@pytest.mark.parametrize("run_id", ["", "run-1"])
async def test_each_key_that_help_shows_does_what_it_says(run_id: str) -> None:
    link = MemoryLink(digest())
    app: Any = OrbiterApp(ConsoleContext(link, clock=lambda: link.now, arm_after=0.0), run_id=run_id)
    done: list[str] = []

    async def note(action: Any, *_given: object, **_named: object) -> bool:
        done.append(str(action))
        return True

    async with app.run_test(size=(110, 60)) as pilot:
        await settled(pilot)
        groups = help_groups(app.screen, deciding=app.screen.decision_keys)
        actions_of = {key: found.binding.action for key, found in app.screen.active_bindings.items()}
        app.run_action = note  # of this app alone: nothing is done, so that the next key meets the same screen
        pressed = [key for group in groups for line in group.lines for key in line.bound]
        for key in pressed:
            await pilot.press(key)
    assert len(pressed) > 30
    assert done == [actions_of[key] for key in pressed]


def test_keys_fill_the_width_in_columns_and_stand_whole() -> None:
    groups = [
        KeyGroup(f"Group {number}", tuple(KeyLine((f"k{at}",), f"does {number} {at}") for at in range(5)))
        for number in range(12)
    ]
    for width, columns in ((40, 1), (76, 2), (116, 3), (156, 4)):
        lines = [plain_text(line) for line in key_columns(groups, width)]
        assert max(line.count("Group") for line in lines) == columns
        assert max(map(len, lines)) <= width
        assert lines[0].startswith("Group 0")
        words = "\n".join(lines)
        assert all(f"does {number} {at}" in words for number in range(12) for at in range(5))


async def test_where_a_secret_is_typed_the_border_is_that_of_the_other_fields() -> None:
    link = MemoryLink(digest())
    app: Any = OrbiterApp(ConsoleContext(link, clock=lambda: link.now, arm_after=0.0), run_id="run-1")
    async with app.run_test() as pilot:
        await settled(pilot)
        field = app.screen.query_one(SecretInput)
        field.display = True
        field.begin()
        await settled(pilot)
        assert field.has_focus
        assert field.styles.border.top[0] == "round"
