"""The map of actions and keys, read from the bindings that the screens work with and the help page shows."""

from __future__ import annotations

from typing import Final, NamedTuple

from textual.binding import Binding
from textual.dom import DOMNode

from runtime.judgement.options import LABELS
from screens.help import HelpScreen
from screens.home import HomeScreen
from screens.keynames import PLACES, in_words
from screens.linked import LinkedScreen
from screens.run import RunScreen
from screens.views.prompt import KEYS
from screens.widgets.choices import Choices
from screens.widgets.editor import Editor
from screens.widgets.livelines import LiveLines
from screens.widgets.livepage import LivePage
from screens.widgets.livetree import LiveTree
from screens.widgets.prompt import Prompt

BOUND: Final[tuple[type[DOMNode], ...]] = (
    Choices,
    Prompt,
    Editor,
    LiveTree,
    LiveLines,
    LivePage,
    HomeScreen,
    RunScreen,
    HelpScreen,
    LinkedScreen,
)
"""Everything that has keys of its own."""

DECISIONS: Final = "Decisions, where they are offered"


class Mapped(NamedTuple):
    """One action: its stable id, where it works, the keys that do it, and what it does."""

    id: str
    place: str
    keys: tuple[str, ...]
    does: str


def keymap() -> list[Mapped]:
    """All actions with an id, by place; then the decisions, which are not bound but read by the prompt itself."""
    found = [_mapped(each) for owner in BOUND for each in owner.BINDINGS if isinstance(each, Binding) and each.id]
    order = list(PLACES.values())
    found.sort(key=lambda action: order.index(action.place))
    found += [Mapped(f"decision.{option}", DECISIONS, (key,), LABELS[option]) for option, key in KEYS.items()]
    longer = f"{LABELS['grant']} for longer: asks how long, and once more"
    return [*found, Mapped("decision.grant_longer", DECISIONS, (KEYS["grant"].upper(),), longer)]


def _mapped(binding: Binding) -> Mapped:
    named = binding.id or ""
    keys = tuple(in_words(key.strip()) for key in binding.key.split(","))
    return Mapped(named, PLACES[named.partition(".")[0]], keys, binding.tooltip or binding.description)
