"""The help page: the keys that work here, read from the bindings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, Screen

from runtime.judgement.recovery.options import OPTION_LABELS
from screens.render.key_names import CONTEXT_NAMES, DECISIONS, KEYS, UNBOUND
from screens.render.layout import Span, Spans, span
from screens.views.shared.render_context import RenderContext
from screens.widgets.text_page import TextPage

_KEY_WIDTH = 16
_FIRST = "First of all"
_LATER = {"next_decision": 1, "up": 2, "app.open_palette": 3, "help": 4, "leave": 5}
"""Ways on and out, after what is done on the screen."""


class HelpPage(TextPage):
    """A page on the ground of a dialog."""

    GROUND: ClassVar[str] = "panel"


class HelpScreen(ModalScreen[None]):
    """A page over the screen that asked for it: of keys, or of whatever `title` says; clean."""

    CSS_PATH = "help.tcss"
    AUTO_FOCUS: ClassVar[str | None] = "HelpPage"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "close", "Close", key_display="esc", id="help.close"),
    ]

    def __init__(self, lines: Sequence[Spans], looks: RenderContext, title: str = "Keys") -> None:
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


def help_lines(screen: Screen[Any], letters: Mapping[str, str] = KEYS, deciding: Collection[str] = ()) -> list[Spans]:
    """All keys that work on `screen` now: first the options that are offered for the decision that is made there, then
    what its foot names, then all by what they belong to. `letters` are the keys of decisions.
    """
    groups: dict[str, dict[str, tuple[list[str], str]]] = {title: {} for title in (_FIRST, *CONTEXT_NAMES.values())}
    for active in screen.active_bindings.values():
        binding = active.binding
        context, named, _ = (binding.id or "").partition(".")
        if not named or binding.key == UNBOUND:
            continue  # Textual's own, of no use here: scrolling sideways, copying what cannot be selected
        shown = screen.app.get_key_display(binding)
        for title in (_FIRST, CONTEXT_NAMES.get(context, context))[not (binding.show and active.enabled) :]:
            group = groups.setdefault(title, {})
            keys, _ = group.setdefault(binding.action, ([], binding.tooltip or binding.description))
            if shown not in keys and not (title == _FIRST and keys):
                keys.append(shown)
    first = groups[_FIRST]
    groups[_FIRST] = {action: first[action] for action in sorted(first, key=lambda action: _LATER.get(action, 0))}
    lines: list[Spans] = []
    if deciding:
        lines += [span("The decision", "ink-accent", bold=True), *_decisions(letters, deciding), ()]
    for title, actions in groups.items():
        if not actions:
            continue
        lines += [span(title, "ink-accent", bold=True)]
        lines += [_line(" ".join(keys), words) for keys, words in actions.values()]
        lines.append(())
    return [*lines, span(DECISIONS, "ink-accent", bold=True), *_decisions(letters, letters)]


def _decisions(letters: Mapping[str, str], offered: Collection[str]) -> list[Spans]:
    found = [_line(key, OPTION_LABELS[option]) for option, key in letters.items() if option in offered]
    longer = f"{OPTION_LABELS['grant']} for longer: asks how long, and once more"
    return [*found, _line(letters["grant"].upper(), longer)] if "grant" in offered else found


def _line(keys: str, words: str) -> Spans:
    return (Span(f"  {keys:<{_KEY_WIDTH}}", "ink-key"), Span(words))
