"""The keys that work where the user was, read from the bindings themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, Screen

from runtime.judgement.options import LABELS
from screens.keynames import PLACES, UNBOUND
from screens.layout import Span, Spans, span
from screens.views.looks import Looks
from screens.views.prompt import KEYS
from screens.widgets.livepage import LivePage

_KEY_WIDTH = 16
_FIRST = "First of all"
DECISIONS = "Decisions, where they are offered"


class HelpPage(LivePage):
    """A page on the ground of a dialog."""

    GROUND: ClassVar[str] = "panel"


class HelpScreen(ModalScreen[None]):
    """A page over the screen that asked for it: of keys, or of whatever `title` says; clean."""

    CSS_PATH = "help.tcss"
    AUTO_FOCUS: ClassVar[str | None] = "HelpPage"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "close", "Close", key_display="esc", id="help.close"),
    ]

    def __init__(self, lines: Sequence[Spans], looks: Looks, title: str = "Keys") -> None:
        super().__init__()
        self._lines = lines
        self._hint = looks.hints((looks.key("help.close", "esc"), "closes"))
        self._title = title

    def compose(self) -> ComposeResult:
        with Vertical(id="help") as box:
            box.border_title = self._title
            box.border_subtitle = Content(self._hint)
            yield HelpPage()

    def on_mount(self) -> None:
        self.query_one(HelpPage).show(self._lines, "help")

    def action_close(self) -> None:
        self.dismiss()


def help_lines(screen: Screen[Any], letters: Mapping[str, str] = KEYS, *, deciding: bool = False) -> list[Spans]:
    """All keys that work on `screen` now: first those that its foot names, then all by what they belong to. The keys of
    decisions, which are `letters`, stand at the head where one is being made, else at the end.
    """
    groups: dict[str, dict[str, tuple[list[str], str]]] = {title: {} for title in (_FIRST, *PLACES.values())}
    for active in screen.active_bindings.values():
        binding = active.binding
        context, named, _ = (binding.id or "").partition(".")
        if not named or binding.key == UNBOUND:
            continue  # Textual's own, of no use here: scrolling sideways, copying what cannot be selected
        shown = screen.app.get_key_display(binding)
        for title in (_FIRST, PLACES.get(context, context))[not (binding.show and active.enabled) :]:
            group = groups.setdefault(title, {})
            keys, _ = group.setdefault(binding.action, ([], binding.tooltip or binding.description))
            if shown not in keys and not (title == _FIRST and keys):
                keys.append(shown)
    lines: list[Spans] = []
    for title, actions in groups.items():
        if not actions:
            continue
        lines += [span(title, "ink-accent", bold=True)]
        lines += [_line(" ".join(keys), words) for keys, words in actions.values()]
        lines.append(())
    decisions = [span(DECISIONS, "ink-accent", bold=True)]
    decisions += [_line(key, LABELS[option]) for option, key in letters.items()]
    decisions.append(_line(letters["grant"].upper(), f"{LABELS['grant']} for longer: asks how long, and once more"))
    return [*decisions, (), *lines] if deciding else [*lines, *decisions]


def _line(keys: str, words: str) -> Spans:
    return (Span(f"  {keys:<{_KEY_WIDTH}}", "ink-key"), Span(words))
