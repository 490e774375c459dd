"""What a prompt shows: the title, the exact action, the choices or the field, and the hint below."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from runtime.record.state.events import IncidentOpened
from screens.render.layout import Span, Spans, join_spans, plain_text, span
from screens.shell.context import ConsoleContext
from screens.views.decisions import prompt as view
from screens.views.decisions.prompt_block import Block
from screens.views.decisions.prompt_call import FOLDED_ROWS
from screens.views.decisions.prompt_choices import LATER_OPTION, PromptChoice
from screens.views.decisions.prompt_hint import held_hint, legend, lines_below
from screens.views.decisions.prompt_lines import PromptContent, lines_of
from screens.views.decisions.prompt_rows import FoldRoom, PromptRows, PromptSpace
from screens.views.decisions.prompt_stage import PromptMode, PromptStage
from screens.views.shared.link_quality import VIEW_ONLY
from screens.widgets.arming import Arming
from screens.widgets.bar import Bar
from screens.widgets.prompts.answer_field import AnswerField
from screens.widgets.prompts.option_columns import OptionColumns
from screens.widgets.prompts.outcome_text import OutcomeText
from screens.widgets.text_page import TextPage

_SEVERAL = 2
"""Runs from which on an answer is about several."""


class RequestText(TextPage):
    """The exact action, on the prompt's ground."""

    GROUND: ClassVar[str] = "panel"


class PromptDisplay(Vertical):
    """Paints one incident, its choices, and what is typed. What a key decides is the prompt's (`Prompt`)."""

    DEFAULT_CSS = """
    PromptDisplay {
        display: none;
        height: auto;
        background: $panel;
        border-top: solid $line;
        border-title-color: $state-waiting;
        border-title-style: bold;
        &.-shown { display: block; }
        &:focus-within { border-top: solid $line-focus; }
        RequestText { background: $panel; height: 1; &.-empty { display: none; } }
        OptionColumns { height: 1; }
        OutcomeText { background: $panel; height: 1; display: none; scrollbar-gutter: auto; overflow-y: hidden; }
        &.-explains OutcomeText { display: block; }
        &.-typing OptionColumns { display: none; }
        &.-typing AnswerField { display: block; }
    }
    """

    BINDING_GROUP_TITLE = "Prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pagedown,ctrl+f", "scroll_asked(1)", "Read the action on", show=False, id="prompt.page_down"),
        Binding("pageup,ctrl+b", "scroll_asked(-1)", "Read the action back", show=False, id="prompt.page_up"),
    ]

    def __init__(self, session: ConsoleContext, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._session = session
        self._content: PromptContent | None = None
        self._space = PromptSpace()
        self.mode: PromptMode = "choose"
        self._sends_in = 0
        self._arming = Arming(self, session, self._armed_changed, laid_out=self._laid_out)
        self._by_itself = False
        """The field that is open opened by itself, and not by a key of the operator."""
        self._choice: PromptChoice | None = None
        self._lifetime = ""
        self._matched = ""
        self._title = ""
        self._note: Spans = ()
        self._folds = False
        """Something of what is shown is folded."""
        self._fold_room = FoldRoom()
        self._unfolded = False
        """Long arguments are shown whole."""
        self._painted: object = None

    def compose(self) -> ComposeResult:
        yield RequestText()
        options = OptionColumns(self._session.glyphs)
        yield options
        yield OutcomeText(options, self._session.render_context().key("editor.send", "ctrl+s"))
        yield AnswerField(self._session)
        yield Bar(id="hint", ellipsis=self._session.glyphs.ellipsis)

    @property
    def opened(self) -> IncidentOpened | None:
        """The incident that is shown."""
        return self._content.opened if self._content is not None else None

    @property
    def _shown(self) -> PromptContent:
        assert self._content is not None
        return self._content

    @property
    def _stage(self) -> PromptStage:
        return PromptStage(self._shown, self.mode, self._choice, self._lifetime, self._matched, self._unfolded)

    def _paint(self, *, afresh: bool = False) -> None:
        if self._content is None:
            return
        context, content = self._session.render_context(), self._content
        title = plain_text(view.title_line(content.opened, context, content.held, content.place))
        if title != self._title:  # setting a title paints the whole widget, even if it is the same
            self._title = title
            self.border_title = Content(title)  # a plain string would be read as markup
        offered = self._offered()
        blocks = self._show_choices(offered, self._blocks(), afresh=afresh)
        self._folds = any(each.folds for each in blocks)
        shows_all = self.mode not in ("choose", "type") or self._unfolded
        asked, lines = self.query_one(RequestText), lines_of(blocks) if shows_all else self._rows.fitting(blocks)
        asked.show(lines, self._text_name)
        asked.set_class(not lines, "-empty")
        if self.mode == "sent" or not content.may_act:
            self._arming.disarm()
        else:
            self._arming.ask(self._stage.decision(offered, context), second=self.mode == "confirm")
        self._hint()
        self._explain_marked()
        self._fit()

    def _paint_changed(self) -> None:
        """Paint what is shown if it is another than at the last call, or stands in another place; once a second, as the
        time and what is known of other runs go on; and while something is typed. Asked with every frame.
        """
        sizes = (self.screen.size, *(child.size for child in self.children))
        painted = (self._content, self._space, sizes, int(self._session.clock().timestamp()))
        if painted != self._painted or self.mode == "type":
            self._painted = painted
            self._paint()

    def _show_choices(self, offered: list[PromptChoice], blocks: list[Block], *, afresh: bool) -> list[Block]:
        """Show the choices, each on a row of its own with what it will do where rows are free; then what is folded of
        `blocks` gets the rows that are left.
        """
        columns = self.query_one(OptionColumns)
        columns.prepare(offered, afresh=afresh, has_free_rows=True)
        if not self._rows.has_room(blocks):
            columns.prepare(offered, afresh=False, has_free_rows=False)
        columns.show()
        if self.mode != "choose" or self._unfolded or not any(each.folds for each in blocks):
            return blocks
        opened, write = self._shown.opened, self._shown.write
        version = write.comparison.version if write is not None else ""
        shown = f"{opened.incident_id} {opened.revision} {version}"
        more = self._fold_room.more_rows(shown, self._rows, blocks, self._blocks)
        return self._blocks(FOLDED_ROWS + more) if more else blocks

    @property
    def _rows(self) -> PromptRows:
        """How the rows of the screen are shared, with the choices that were prepared."""
        return PromptRows(
            screen_rows=self.screen.size.height - self._space.head_rows,
            text_width=self._text_width,
            choice_rows=self.query_one(OptionColumns).rows,
            outcome_rows=self.query_one(OutcomeText).rows,
            chooses=self.mode == "choose" or (self.mode == "confirm" and self._stage.confirms_act),
            beside=self._space.beside or not self._space.explained,
        )

    @property
    def _text_width(self) -> int:
        """Cells of a line of what is asked."""
        asked = self.query_one(RequestText)
        return max(1, (asked.visible_size.width or self.screen.size.width - 2) - 2)

    @property
    def _text_name(self) -> str:
        """The name of what is shown of the incident: what is folded is another text than the whole."""
        return f"{self._shown.opened.incident_id}{' folded' if self._folds else ''}"

    def _blocks(self, fold_rows: int = FOLDED_ROWS) -> list[Block]:
        context, width = self._session.render_context(), self._text_width
        found = self._stage.blocks(context, width, explained=self._space.explained, fold_rows=fold_rows)
        changes = self.query_one(AnswerField).change_lines if self.mode == "type" else None
        return found if changes is None else [Block("Change", tuple(changes)), *found]

    def _offered(self) -> list[PromptChoice]:
        context, keys = self._session.render_context(), self._session.link.provider_keys(self._shown.opened.run_id)
        return self._stage.choices(context, self._session.letters, runs=self._runs_of_breaker(), keys=keys)

    @property
    def keys(self) -> dict[str, str]:
        """The keys that choose now, each with its label; none while none decides."""
        if self._content is None or self.mode in ("held", "sent") or not self._content.may_act:
            return {}
        opens = self._session.glyphs.opens
        return {each.key: each.shown_label(opens) for each in self._offered() if each.option != LATER_OPTION}

    def _runs_of_breaker(self) -> int:
        """How many runs wait for the breaker that this incident is about. Several may, until all are told."""
        breaker, link = self._shown.opened.action.get("breaker"), self._session.link
        if not breaker:
            return 0
        known = {each.run_id for each in link.incidents.values() if each.opened.action.get("breaker") == breaker}
        return max(len(known), _SEVERAL) if link.loading else len(known)

    def _hint(self) -> None:
        below = lines_below(self.query_one(RequestText).lines_below, self._session.glyphs)
        deadline = view.deadline_line(self.opened, self._session.render_context()) if self.opened is not None else ()
        tab = self._session.render_context().key("run.next_pane", "tab")
        has_page = self._space.beside or not self._space.explained
        more = span(f"{tab} report", "ink-muted") if not (has_page or below or self._note) else ()
        right = join_spans((deadline, below, more if self.mode == "choose" else ()))
        self.query_one("#hint", Bar).show(self._note or self._usual_hint(), right)

    def _usual_hint(self) -> Spans:
        if self.mode == "held":
            return held_hint(self._sends_in)
        if self.mode == "sent":
            return span("sent, waits for the runtime", "ink-muted")
        if not self._shown.may_act:
            return span(f"{VIEW_ONLY}: this login may not answer; {self._session.who_may}", "severity-warning")
        if self.mode == "type" and self._choice is not None:
            soon = () if self.armed or not self._by_itself else span("keys count in a moment", "ink-muted")
            return self.query_one(AnswerField).hint(self._arming.ignored_text(), soon, by_itself=self._by_itself)
        swallowed = (*self._arming.ignored_text(), Span(" typed before", "severity-warning")) if self.ignored else ()
        does = "one key goes on" if self.mode == "lifetime" else "press a key"
        ready = span(does if self.armed else "keys count in a moment", "ink-muted")
        choices, undo = self.query_one(OptionColumns).choices, self._session.hold.seconds
        marks = legend(choices, undo) if self.mode == "choose" else ()
        return join_spans((swallowed, ready, *marks))

    def _explain_marked(self) -> None:
        """Say below the choices what the marked one will do; while that is to decide later, also the proposed one."""
        columns = self.query_one(OptionColumns)
        marked = columns.marked
        outcome = self.query_one(OutcomeText)
        explains = self.mode == "choose" and outcome.rows > 0
        self.set_class(explains, "-explains")
        if explains and marked is not None:
            outcome.explain(marked)

    def on_option_columns_marked(self, message: OptionColumns.Marked) -> None:
        message.stop()
        if self.opened is not None:
            self._explain_marked()

    def _fit(self) -> None:
        """As high as needed; what is above it keeps a few rows."""
        asked = self.query_one(RequestText)
        rows = self._rows
        for_asked = max(1, min(asked.lines_needed, rows.for_text))
        for widget, height in (
            (asked, for_asked),
            (self.query_one(OptionColumns), rows.for_choices),
            (self.query_one(OutcomeText), max(1, rows.outcome_rows)),
        ):
            if widget.styles.height is None or widget.styles.height.value != height:
                widget.styles.height = height

    def on_text_page_seen(self, message: TextPage.Seen) -> None:
        message.stop()
        if self.opened is not None:  # it may have been put away since
            self._fit()
            self._hint()

    def on_resize(self) -> None:
        if self.opened is not None:
            self.query_one(AnswerField).fit()
            self._paint()

    def action_scroll_asked(self, direction: int) -> None:
        """Read the action without leaving the choices; what is folded unfolds."""
        if self._folds and not self._unfolded:
            self._unfold()
        else:
            self.query_one(RequestText).action_page(direction)

    def _unfold(self) -> None:
        """Show long arguments whole."""
        self._unfolded = True
        self._paint()

    @property
    def armed(self) -> bool:
        """Whether keys count."""
        return self._arming.armed

    @property
    def ignored(self) -> int:
        """Keys that came too early for this incident."""
        return self._arming.ignored

    def _laid_out(self) -> bool:
        asked = self.query_one(RequestText)
        return (
            self._content is not None
            and not self._content.write_awaited
            and (asked.is_shown(self._text_name) or asked.has_class("-empty"))
        )

    def _armed_changed(self) -> None:
        """Keys count from now on, or no longer."""
        if self.opened is not None and self.is_attached:
            self._hint()
