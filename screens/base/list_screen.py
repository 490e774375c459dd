"""The base of lists: filter, sort, selection.

Those who inherit from this say what its rows are and what can be done with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from screens.base.runtime_screen import RuntimeScreen
from screens.render.layout import Column, Row, Spans, empty_columns
from screens.shell.context import ConsoleContext
from screens.views.shared.list_state import ListState, selected_rows
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_sort import header_line
from screens.widgets.bar import Bar
from screens.widgets.line_list import LineList
from screens.widgets.row_list import RowList

CONNECTING = "Connecting to the runtime"
NOT_LOADED = "Nothing is known yet"
LOADING = "Nothing of what is loaded so far belongs here"


class ListScreen(RuntimeScreen):
    """The names of the columns, the list, and a line that says what is left out of it."""

    DEFAULT_CSS = """
    ListScreen {
        #columns { background: $panel; }
        #panes, #list { height: 1fr; }
        #narrowed { display: none; }
        #narrowed.-shown { display: block; }
        #filter { background: $panel; border: none; padding: 0 1; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash",
            "filter",
            "Filter",
            key_display="/",
            tooltip="Show only rows with these words, or that match a regular expression; ! hides them",
            id="list.filter",
        ),
        Binding("F", "faults_only", "Faults only", show=False, id="list.faults"),
        Binding("o", "sort", "Sort", show=False, tooltip="Sort by the next column", id="list.sort"),
        Binding("O", "turn", "Reverse the order", show=False, id="list.reverse"),
        Binding("space", "select", "Select", show=False, tooltip="Select or deselect the row", id="list.select"),
        Binding("ctrl+a", "select_shown", "Select all shown", show=False, id="list.select_all"),
    ]
    COLUMNS: ClassVar[Sequence[Column]] = ()
    """The columns of the list, by which it can be sorted."""
    EMPTY: ClassVar[str] = "Nothing is here."
    """Said where there is nothing to list; ours, not foreign text."""

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__(session)
        self.listing = ListState(self.COLUMNS)
        self._before_filter = ""
        """Where the cursor stood when a filter began to be typed: it goes back there once the row is shown again."""

    def body(self) -> ComposeResult:
        """The list; what is beside it comes from `beside`."""
        glyphs = self.session.glyphs
        yield Bar(id="columns", ellipsis=glyphs.ellipsis)
        with Vertical(id="panes"):
            yield RowList(self.COLUMNS, empty=CONNECTING, glyphs=glyphs, id="list")
            yield from self.side_panes()
        yield Bar(id="narrowed", ellipsis=glyphs.ellipsis)

    def side_panes(self) -> ComposeResult:
        """Panes that stand below or beside the list."""
        yield from ()

    def empty_message(self, context: RenderContext) -> str:
        """Said where there is nothing to list; ours, not foreign text."""
        return self.EMPTY

    def all_rows(self) -> Sequence[Row]:
        """All rows there are, in the order of the view."""
        raise NotImplementedError

    @property
    def ready(self) -> bool:
        """Whether what there is was told at all: what comes later is new."""
        return self.link.ready

    @property
    def row_list(self) -> RowList:
        return self.query_one("#list", RowList)

    @property
    def selected_keys(self) -> tuple[str, ...]:
        """Keys of the rows that an action is about."""
        return selected_rows(self.listing, self.row_list.cursor_key)

    def link_changed(self) -> None:
        """While the first rows are shown and the others come in, the clock alone has them drawn: once a second."""
        if not (self.link.loading and self.is_mounted and self.row_list.keys):
            super().link_changed()

    def draw(self) -> None:
        """The rows as they are by now, less what is left out."""
        context, shown = self.session.render_context(), self.row_list
        rows = self.all_rows()
        if self.ready:
            empty = LOADING if context.partial else self.empty_message(context)
            shown.empty = context.nothing_matches() if rows else empty
        else:
            shown.empty = NOT_LOADED if self.link.status.phase == "lost" else CONNECTING
        fresh = self.listing.fresh(rows, context.now) if self.ready and not context.partial else ()
        listed = self.listing.rows(rows)
        shown.leave_out(empty_columns(self.COLUMNS, listed))
        shown.show(listed, selected=self.listing.selected, fresh=fresh, cursor_key=self._before_filter)
        header = self.query_one("#columns", Bar)
        header.display = bool(rows)
        if shown.visible_size.width:
            header.show(*self._header(context))
        else:
            header.show_when_painted(lambda: self._header(context))
        narrowed = self.query_one("#narrowed", Bar)
        words = self.listing.words(context)
        narrowed.show(words)
        narrowed.set_class(bool(words), "-shown")

    def _header(self, context: RenderContext) -> tuple[Spans, Spans]:
        """The names of the columns that have something, as wide as the list is."""
        shown = self.row_list
        width, sort = shown.visible_size.width, self.listing.sort
        return header_line(self.COLUMNS, width, sort, context.glyphs, shown.empty_columns), ()

    def on_resize(self) -> None:
        self.pace.request()

    def on_row_list_folded(self, message: RowList.Folded) -> None:
        self.listing.fold(message.key, folded=message.folded)
        self._draw_now()

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        """The cursor stands on another row: what is beside the list is about that one."""
        if message.by_operator:
            self._before_filter = ""

    # -- what is left out ------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """`escape` first takes back what leaves rows out, and then goes back."""
        if action == "up" and (self.listing.narrowed or bool(self.query("#filter"))):
            return True
        return super().check_action(action, parameters)

    def action_up(self) -> None:
        """Show all again; where all is shown, go back."""
        if self.query("#filter"):
            self.listing.narrow("")
            self._end_typing()
        elif self.listing.widen():
            self._draw_now()
        else:
            super().action_up()

    def action_filter(self) -> None:
        """Type a pattern; the last one stands there to be changed, and is in force at once."""
        from screens.widgets.pattern_input import PatternInput  # not before the first list is painted

        if self.query("#filter"):
            return
        self.listing.narrow(self.listing.filter.text or self.listing.last_filter)
        field = PatternInput(self.listing.filter.text, self.narrow, self._end_typing)
        self._before_filter = self.row_list.cursor_key
        self.mount(field, after="#narrowed")
        field.focus()
        self._draw_now()

    def narrow(self, text: str) -> None:
        """Show what this pattern means."""
        self.listing.narrow(text)
        self.pace.request()

    def _end_typing(self) -> None:
        self.query("#filter").remove()
        self.row_list.focus()
        self._draw_now()
        self._before_filter = ""

    def action_faults_only(self) -> None:
        self.listing.faults_only = not self.listing.faults_only
        self._draw_now()

    # -- order and selection ---------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """By the next column; after the last one, as the list has it by itself, and that is worked out again."""
        self.listing.sort_by_next()
        self.renew_order()
        self._draw_now()

    def action_turn(self) -> None:
        self.listing.turn()
        self.renew_order()
        self._draw_now()

    def renew_order(self) -> None:
        """Another order was asked for: what kept its place may move now."""

    def action_select(self) -> None:
        """Select the row under the cursor, and go on to the next; fold or unfold it, if others are under it."""
        row = self.row_list.cursor_row
        if row is None:
            return
        if row.fold is not None:
            self.row_list.toggle_fold()
            return
        self.listing.toggle(row.key)
        self.row_list.action_move(1)
        self._draw_now()

    def action_select_shown(self) -> None:
        """All or none; while some are still to come, all cannot be meant."""
        if self.all_told():
            self.listing.select_shown()
            self._draw_now()

    def _draw_now(self) -> None:
        """A key was pressed: draw at once what it did."""
        self.draw()
        self.refresh_bindings()
