"""The help page: the keys that work here, read from the bindings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region
from textual.screen import ModalScreen, Screen
from textual.strip import Strip

from runtime.judgement.recovery.option_table import OPTIONS, option_keys
from screens.render.key_names import CONTEXT_NAMES, DECISIONS, UNBOUND
from screens.render.layout import Spans
from screens.shell.key_actions import longer_words
from screens.views.shared.key_columns import KeyGroup, KeyLine, key_columns
from screens.views.shared.render_context import RenderContext
from screens.widgets.footer import hint_rule
from screens.widgets.text_page import TextPage

_FIRST = "Here"
_ACTS = "Acts on runs"
_MARGIN = 2
"""Cells at the right of a page: what fills them would be wrapped."""
_MOST_WORDS = 44
"""Characters up to which an action is said in full; else as at the foot of the screen."""
_DECISION = "This decision"
_NO_KEYS: Mapping[str, str] = {}
_LATER = {"next_decision": 1, "up": 2, "app.open_palette": 3, "help": 4, "leave": 5}
"""Ways on and out, after what is done on the screen."""


class HelpPage(TextPage):
    """A page on the ground of a dialog."""

    GROUND: ClassVar[str] = "panel"


class KeysPage(HelpPage):
    """Groups of keys, in as many columns as there is room for."""

    def __init__(self, groups: Sequence[KeyGroup]) -> None:
        super().__init__()
        self._groups = groups
        self._arranged_for = 0

    def render_lines(self, crop: Region) -> list[Strip]:
        """Arranged where it is painted: the first frame has the keys."""
        if (width := self.visible_size.width) != self._arranged_for:
            self._arranged_for = width
            self.show(key_columns(self._groups, width - _MARGIN), "help")
        return super().render_lines(crop)


class HelpScreen(ModalScreen[None]):
    """A page over the screen that asked for it: of groups of keys, or of lines of whatever `title` says; clean."""

    CSS_PATH = "help.tcss"
    AUTO_FOCUS: ClassVar[str | None] = "HelpPage"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "close", "Close", key_display="esc", id="help.close"),
    ]

    def __init__(
        self,
        lines: Sequence[Spans],
        context: RenderContext,
        title: str = "Keys",
        *,
        groups: Sequence[KeyGroup] = (),
    ) -> None:
        super().__init__()
        self._lines = lines
        self._groups = groups
        self._hint = context.hints((context.key("help.close", "esc"), "closes"))
        self._title = title

    def compose(self) -> ComposeResult:
        with Vertical(id="help") as box:
            box.border_title = self._title
            box.border_subtitle = Content(self._hint)
            box.set_class(bool(self._groups), "-keys")
            yield KeysPage(self._groups) if self._groups else HelpPage()

    def on_mount(self) -> None:
        if self._lines:
            self.query_one(HelpPage).show(self._lines, "help")

    def action_close(self) -> None:
        self.dismiss()


def help_groups(
    screen: Screen[Any], letters: Mapping[str, str] | None = None, deciding: Mapping[str, str] = _NO_KEYS
) -> list[KeyGroup]:
    """All keys that work on `screen` now, in groups.

    Args:
        screen: the screen.
        letters: the keys of decisions, if not the default ones.
        deciding: the keys of the decision that is made there, each with the label that its prompt shows.

    Returns:
        First the keys of the decision, then what the foot of the screen names, then what acts on runs, then all others
        by what they belong to. A key that the foot names is not listed again.
    """
    letters = option_keys() if letters is None else letters
    acts: Collection[str] = getattr(screen, "ACTS", ())
    found: dict[str, dict[str, KeyLine]] = {title: {} for title in (_FIRST, _ACTS, *CONTEXT_NAMES.values())}
    is_hinted = hint_rule(screen)
    for active in screen.active_bindings.values():
        binding = active.binding
        context, named, _ = (binding.id or "").partition(".")
        if not named or binding.key == UNBOUND:
            continue  # Textual's own, of no use here: scrolling sideways, copying what cannot be selected
        shown = screen.app.get_key_display(binding)
        usual = _ACTS if binding.action.partition("(")[0] in acts else CONTEXT_NAMES.get(context, context)
        for title in (_FIRST, usual) if active.enabled and is_hinted(binding) else (usual,):
            group = found.setdefault(title, {})
            known = group.get(binding.action, KeyLine((), _words(binding)))
            if shown not in known.keys and not (title == _FIRST and known.keys):
                bound = (*known.bound, binding.key) if active.enabled else known.bound
                group[binding.action] = KeyLine((*known.keys, shown), known.does, bound)
    first = found[_FIRST]
    found[_FIRST] = {action: first[action] for action in sorted(first, key=lambda action: _LATER.get(action, 0))}
    for title, lines in found.items():
        if title not in (_FIRST, _ACTS):
            found[title] = {action: line for action, line in lines.items() if first.get(action) != line}
    now = [KeyGroup(_DECISION, tuple(KeyLine((key,), label) for key, label in deciding.items()))] if deciding else []
    listed = [KeyGroup(title, tuple(lines.values())) for title, lines in found.items() if lines]
    return [*now, *listed] if deciding else [*listed, KeyGroup(DECISIONS, _decisions(letters))]


def _words(binding: Binding) -> str:
    return binding.tooltip if 0 < len(binding.tooltip) <= _MOST_WORDS else binding.description


def _decisions(letters: Mapping[str, str]) -> tuple[KeyLine, ...]:
    found = [KeyLine((key,), OPTIONS[option].pressed_label) for option, key in letters.items()]
    return (*found, KeyLine((letters["grant"].upper(),), longer_words()))
