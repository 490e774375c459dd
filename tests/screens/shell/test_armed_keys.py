"""Keys that act count only after a moment in which what they decide about stood on the screen without a key pressed."""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.screen import ModalScreen

import screens
from console.app.app import OrbiterApp
from runtime.operations.handler_table import HANDLERS
from screens.base.armed_screen import ArmedScreen
from screens.shell.armed_keys import (
    ARM_AFTER_S,
    HELD_KEY_FACTOR,
    SECOND_KEY_FACTOR,
    ArmedKeys,
)
from screens.shell.context import ConsoleContext
from screens.widgets.arming import Arming
from screens.widgets.prompts.prompt import Prompt
from tests.screens.desk_data import filled
from tests.screens.lonely import text_of
from tests.screens.memory_link import MemoryLink
from tests.screens.stepping import Clock
from tests.screens.stories import DENIED, RATE_LIMITED, START, Story, digest, limited
from tests.screens.waiting import press, until

ROOT = Path(screens.__file__).parent.parent
LONG = 60.0
REPEATS = (0.5, *[0.03] * 20)
"""Seconds between the events of a key that is held down: a pause first, then fast repeats."""


# -- the rule ------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from("ry"), st.floats(0.0, ARM_AFTER_S * 0.99)), min_size=1))
def test_keys_that_follow_each_other_fast_never_count_and_each_is_counted(pressed: list[tuple[str, float]]) -> None:
    clock = Clock()
    keys = ArmedKeys(clock=clock)
    keys.ask("a question")
    keys.content_painted("a question")
    for number, (key, pause) in enumerate(pressed, 1):
        clock.now += pause
        assert not keys.accept(key)
        assert keys.ignored == number


@given(st.floats(0.0, ARM_AFTER_S * HELD_KEY_FACTOR * 0.99), st.booleans())
def test_a_key_that_is_held_never_counts_however_late_its_repeats_begin(delay: float, second: bool) -> None:
    clock = Clock()
    keys = ArmedKeys(clock=clock)
    for content in ("first", "second"):
        keys.ask(content, second=second)
        keys.content_painted(content)
        clock.now += LONG
        if content == "first":
            assert keys.accept("y")
    clock.now += delay - LONG
    for pause in (0.0, *REPEATS):
        clock.now += pause
        assert not keys.accept("y")
    clock.now += LONG
    assert keys.accept("y")


def test_the_moment_begins_when_it_is_painted_and_again_with_other_content() -> None:
    clock = Clock()
    keys = ArmedKeys(clock=clock)
    keys.ask("one")
    clock.now += LONG
    assert not keys.accept("r"), "nothing was painted yet"
    keys.content_painted("one")
    assert keys.remaining > 0
    clock.now += ARM_AFTER_S
    assert keys.remaining == 0
    keys.ask("one")
    assert keys.remaining == 0, "the same content changes nothing"
    keys.ask("two")
    keys.content_painted("one")
    clock.now += LONG
    assert keys.remaining > 0, "what was painted is not what is asked now"
    keys.content_painted("two")
    clock.now += ARM_AFTER_S
    assert keys.accept("r")


def test_the_second_key_takes_longer() -> None:
    clock = Clock()
    keys = ArmedKeys(clock=clock)
    keys.ask("sure?", second=True)
    keys.content_painted("sure?")
    clock.now += ARM_AFTER_S * SECOND_KEY_FACTOR * 0.99
    assert not keys.armed
    clock.now += ARM_AFTER_S * SECOND_KEY_FACTOR * 0.02
    assert keys.armed


# -- every place where a key acts ----------------------------------------------------------------------------------


CONFIRM = "ConfirmActionScreen"
BATCH_ACTION = "BatchActionScreen"


@dataclass(frozen=True)
class KeyCase:
    """`steps` lead to where `key` acts: keys, and the word that stands there then. `sends` is the verb that it sends,
    from the function `by`; `screen` is the dialog, none where it is the prompt.
    """

    link: Callable[[], MemoryLink]
    key: str
    sends: str
    by: str
    steps: tuple[tuple[str, ...], ...] = ()
    run_id: str = ""
    screen: str = ""
    typed: str = ""
    """What is typed at once into the field that the last step opened."""


def of(*stories: Story) -> Callable[[], MemoryLink]:
    return lambda: MemoryLink(*stories)


def parked(fault: Any = RATE_LIMITED, **more: Any) -> Callable[[], MemoryLink]:
    """A run in which a tool waits for a decision."""

    def made() -> MemoryLink:
        story = Story("run-2", "pay the bill", START)
        agent = story.open("agent", "clerk", story.begin("Go."))
        kind = "value" if "question" in more else "tool"
        story.park(story.start(kind, "pay", agent, agent="clerk"), fault, **more)
        return MemoryLink(story)

    return made


def several() -> MemoryLink:
    return MemoryLink(limited(1, 1), limited(2, 2))


ROOT_NODE = (("home", ""),)
SENT = ("enter", "keys count")
PAY = {"action": {"tool": "pay", "arguments": {"sum": 1}}}
IN_RUN = "screens.pages.run_decision.RunDecision._send"
MANY = "screens.dialogs.bulk_answer.BulkAnswerScreen._answer"
ACT = "screens.dialogs.confirm_action.RunActionScreen._carry_out"
BATCH = "screens.base.run_list_screen.RunListScreen._confirm_verb.act"
ORDER = "screens.dialogs.palette_commands.run_order.act"

PLACES = {
    "prompt, an option": KeyCase(several, "r", "answer", IN_RUN, run_id="run-1"),
    "prompt, a grant": KeyCase(of(digest()), "g", "answer", IN_RUN, run_id="run-1"),
    "prompt, abort": KeyCase(several, "y", "answer", IN_RUN, (("a", "Ends the run"),), run_id="run-1"),
    "prompt, skip": KeyCase(several, "y", "answer", IN_RUN, (("s", "is not done"),), run_id="run-1"),
    "prompt, a lasting grant": KeyCase(
        of(digest()),
        "y",
        "answer",
        IN_RUN,
        ((*["pagedown"] * 6, ""), ("G", "until this run ends"), ("s", "would have matched")),
        run_id="run-1",
    ),
    "prompt, did it happen": KeyCase(
        parked(DENIED, in_doubt=True, **PAY), "y", "answer", IN_RUN, (("r", "happens twice"),), run_id="run-2"
    ),
    "prompt, a text": KeyCase(of(digest()), "enter", "answer", IN_RUN, (("d", "with a word"),), run_id="run-1"),
    "many, an answer": KeyCase(
        several, "y", "answer_like", MANY, (("B", "None of them"), ("r", "the other too")), screen="BulkAnswerScreen"
    ),
    "run, freeze": KeyCase(several, "y", "freeze", ACT, (("p", "Freeze"),), "run-1", CONFIRM),
    "run, abort": KeyCase(several, "y", "abort", ACT, (("A", "why"), ("enter", "keys count")), "run-1", CONFIRM),
    "run, rewind": KeyCase(several, "y", "rewind", ACT, (*ROOT_NODE, ("R", "model"), SENT), "run-1", CONFIRM),
    "run, fork": KeyCase(several, "y", "fork", ACT, (*ROOT_NODE, ("K", "model"), SENT), "run-1", CONFIRM),
    "run, message": KeyCase(
        several, "enter", "inject", ACT, (("home", ""), ("down", ""), ("M", "the message")), "run-1",
        "ConfirmActionScreen",
        "x",
    ),
    "list, freeze": KeyCase(several, "y", "freeze", BATCH, (("down", ""), ("p", "Freeze")), screen=BATCH_ACTION),
    "list, abort": KeyCase(several, "y", "abort", BATCH, (("down", ""), ("A", "Abort")), screen=BATCH_ACTION),
    "palette": KeyCase(
        several,
        "y",
        "freeze",
        ORDER,
        (("colon", "Commands"), (*"freeze everything", "everything"), ("enter", "Freeze every run")),
        screen="BatchActionScreen",
    ),
    "permissions, revoke": KeyCase(
        filled,
        "y",
        "revoke",
        "screens.pages.grants.GrantsScreen.action_revoke.revoke",
        (("3", "Rules of orbiter.toml"), ("x", "Take back")),
        screen="BatchActionScreen",
    ),
    "limits, reset": KeyCase(
        filled,
        "y",
        "reset",
        "screens.pages.limits.LimitsScreen.action_reset.reset",
        (("4", "next test call"), ("t", "Close 1 breaker")),
        screen="BatchActionScreen",
    ),
    "workers, move": KeyCase(
        filled,
        "y",
        "move",
        "screens.pages.workers.WorkersScreen.action_move.move",
        (("8", "Runs without a worker"), ("m", "Move 1 run")),
        screen="BatchActionScreen",
    ),
    "start": KeyCase(
        several,
        "ctrl+s",
        "start",
        "screens.dialogs.run_start.start_run",
        (("2", "runs"), ("s", "Start a run")),
        screen="StartScreen",
        typed="x.py:y",
    ),
}  # fmt: skip

NO_KEYS = {"console.app.digest.record_look"}
"""What sends a command that acts, but not because of a key."""
OTHER_DIALOGS = {"FirstFilesScreen"}
"""Dialogs whose keys act here and send no command: files are written (tests/console/app/test_first_use.py)."""


def arming_of(pilot: Pilot[None]) -> Arming:
    screen = pilot.app.screen
    return screen.arming if isinstance(screen, ArmedScreen) else screen.query_one(Prompt)._arming


async def led_to(pilot: Pilot[None], place: KeyCase, clock: Clock) -> None:
    """Go through the steps, slowly."""
    for *keys, word in place.steps:
        for key in keys:
            await painted(pilot)
            clock.now += LONG
            await pilot.press(key)
        await until(pilot, partial(lambda expected: expected in text_of(pilot), word))
    await painted(pilot)


async def painted(pilot: Pilot[None]) -> None:
    """What keys decide about here is painted, if anything is, and a field that opened by itself has the focus."""
    await pilot.pause()
    if isinstance(pilot.app.screen, ArmedScreen) or pilot.app.screen.query(Prompt):
        await until(pilot, lambda: arming_of(pilot)._keys.started or not arming_of(pilot).is_asking)


def sent(link: MemoryLink, verb: str) -> list[dict[str, Any]]:
    return [args for said, args in link.said if said == verb]


@pytest.mark.parametrize("name", PLACES)
async def test_no_key_acts_early_or_while_it_is_held_and_a_fresh_one_does(name: str) -> None:
    place, clock = PLACES[name], Clock()
    link = place.link()
    session = ConsoleContext(link, clock=lambda: link.now, monotonic=clock)
    async with OrbiterApp(session, run_id=place.run_id).run_test(size=(120, 44)) as pilot:
        await until(pilot, lambda: not place.run_id or bool(pilot.app.screen.query("Prompt.-shown")))
        await led_to(pilot, place, clock)
        await pilot.press(*place.typed)
        assert type(pilot.app.screen).__name__ == (place.screen or ("RunScreen" if place.run_id else ""))
        for pause in (0.0, *REPEATS):
            clock.now += pause
            await pilot.press(place.key)
            assert sent(link, place.sends) == []
        assert f"ignored {1 + len(REPEATS)} keys" in text_of(pilot)
        clock.now += LONG
        await press(pilot, place.key, then=lambda: bool(sent(link, place.sends)))


# -- nothing is left out -------------------------------------------------------------------------------------------


LOOKS = {kind.__name__ for kind in HANDLERS if not kind.acts}


def senders(folder: str) -> Iterator[str]:
    """Functions that send a request that acts, or one that is not made in the call itself."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        yield from (f"{module}.{name}" for name in _senders(ast.parse(path.read_text()), ()))


def _senders(node: ast.AST, inside: tuple[str, ...]) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        inside = (*inside, node.name)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "ask":
        link = node.func.value
        request = node.args[0]
        made = request.func if isinstance(request, ast.Call) else None
        looks = isinstance(made, ast.Name) and made.id in LOOKS
        if "link" in (getattr(link, "attr", ""), getattr(link, "id", "")) and not looks:
            yield ".".join(inside)
    for child in ast.iter_child_nodes(node):
        yield from _senders(child, inside)


def test_every_function_that_sends_a_command_that_acts_is_tried_above() -> None:
    assert {"ListGrants", "ReadEvents", "FindPrecedent"} <= LOOKS
    found = {*senders("screens"), *senders("console")}
    assert found == {place.by for place in PLACES.values()} | NO_KEYS


def test_every_dialog_takes_its_keys_through_the_rule_or_acts_on_nothing() -> None:
    modules = (import_module(each.name) for each in pkgutil.walk_packages(screens.__path__, "screens."))
    dialogs = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, ModalScreen) and value.__module__.startswith("screens.")
    }
    acting = {each.__name__ for each in dialogs if issubclass(each, ArmedScreen) and each is not ArmedScreen}
    assert acting == {place.screen for place in PLACES.values()} - {""} | OTHER_DIALOGS
    assert {each.__name__ for each in dialogs} - acting == {"ArmedScreen", "HelpScreen", "PaletteScreen"}
