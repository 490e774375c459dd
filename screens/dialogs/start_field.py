"""A field of the form that starts a run: its title, and a line to type in."""

from __future__ import annotations

from typing import Final

from textual.containers import Horizontal
from textual.suggester import Suggester
from textual.widgets import Input, Label

from screens.views.lists.start import complete_limit
from screens.widgets.line_input import LineInput

START_FIELDS: Final = {
    "ref": ("Swarm", "path/to/file.py:name or package.module:name"),
    "host": ("Host", "where it is to run"),
    "title": ("Title", "what lists call it; empty: the input's first line"),
    "queue": ("Queue", ""),
    "limits": ("Limits", "max_steps=20 max_total_cost_usd=0.5; empty: as configured"),
}
"""By its name, the title of each and what stands in it while it is empty."""


class LimitNames(Suggester):
    """Writes the name of a limit out, at `right`."""

    def __init__(self) -> None:
        super().__init__(case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        return complete_limit(value) or None


class StartField(Horizontal):
    """Hidden, if it is for a queue, until some worker has one."""

    def __init__(self, name: str, value: str) -> None:
        self.field = name
        title, hint = START_FIELDS[name]
        suggester = LimitNames() if name == "limits" else None
        field = LineInput(value, placeholder=hint, compact=True, select_on_focus=False, suggester=suggester, id=name)
        super().__init__(Label(title, classes="name", markup=False), field, classes="field")
        self.display = name != "queue"

    def show(self, hint: str) -> None:
        """Show it, with another hint than at first."""
        self.query_one(Input).placeholder = hint
        self.display = True
