"""What a prompt shows: the title, the exact action, the choices or the field, and the hint below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from runtime.judgement.recovery.option_table import effect_of
from runtime.judgement.reports.explanation.explain import Explanation
from runtime.record.state.events import AnswerProposed, IncidentOpened
from screens.render.confusables import mark_confusables
from screens.render.layout import (
    Span,
    Spans,
    join_spans,
    plain_text,
    span,
)
from screens.shell.context import ConsoleContext
from screens.views.decisions import prompt as view
from screens.views.decisions import prompt_choices as offers
from screens.views.decisions.prompt_choices import LATER_OPTION, PromptChoice
from screens.views.decisions.prompt_hint import held_hint, legend, lines_below, typing_hint
from screens.views.decisions.prompt_lines import (
    FOLDED_ROWS,
    Block,
    lines_of,
    mark_invisible,
    prompt_blocks,
    question_lines,
)
from screens.views.decisions.prompt_rows import PromptRows
from screens.views.decisions.typed_answer import wanted_words
from screens.views.decisions.written_file import ShownWrite
from screens.views.run.explanation import LABEL_CELLS
from screens.views.shared.link_quality import VIEW_ONLY
from screens.widgets.arming import Arming
from screens.widgets.bar import Bar
from screens.widgets.prompts.answer_field import AnswerField
from screens.widgets.prompts.option_columns import OptionColumns
from screens.widgets.prompts.outcome_text import OutcomeText
from screens.widgets.text_page import TextPage

PromptMode = Literal["choose", "type", "lifetime", "confirm", "held", "sent"]


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
        self.opened: IncidentOpened | None = None
        self.mode: PromptMode = "choose"
        self._sends_in = 0
        self._word_until = 0.0
        """Until then (monotonic) another letter means that the one that decided was typed as text."""
        self._is_word = False
        """Such a letter came: what is held is taken back."""
        self._arming = Arming(self, session, self._armed_changed, laid_out=self._laid_out)
        self._opens_field = False
        """A field opened by itself and takes the focus once keys count."""
        self._by_itself = False
        """The field that is open opened by itself, and not by a key of the operator."""
        self._choice: PromptChoice | None = None
        self._lifetime = ""
        self._matched = ""
        self._title = ""
        self._held: Sequence[str] = ()
        self._advised = ""
        self._told: Explanation | None = None
        self._proposal: AnswerProposed | None = None
        self._write: ShownWrite | None = None
        self._write_awaited = False
        """What the file is that a permission asks to write is not known yet: `g` would mean another thing then."""
        self._may_act = True
        self._note: Spans = ()
        self._model: Spans = ()
        self._place = ""
        self._head_rows = 0
        """Rows of the screen that its head has beyond its line: of the tour, or of a graph."""
        self._explained = True
        """Whether the prompt has the explanation; not where a page in place of the nodes has it."""
        self._beside = False
        """Whether a page with the full report stands beside the nodes."""
        self._folds = False
        """Something of what is shown is folded."""
        self._room: tuple[str, int, int, int] | None = None
        """Where `_more_rows` was found: incident, revision, width, rows to spare."""
        self._more_rows = 0
        """Rows beyond `FOLDED_ROWS` that each long argument has."""
        self._unfolded = False
        """Long arguments are shown whole."""

    def compose(self) -> ComposeResult:
        yield RequestText()
        options = OptionColumns(self._session.glyphs)
        yield options
        yield OutcomeText(options, self._session.render_context().key("editor.send", "ctrl+s"))
        yield AnswerField(self._session)
        yield Bar(id="hint", ellipsis=self._session.glyphs.ellipsis)

    def show_preview(self, incident_id: str, lifetime: str, words: str) -> None:
        """What the grant that is about to be confirmed would have matched; words that come too late are dropped."""
        here = self.opened is not None and self.opened.incident_id == incident_id
        if here and self.mode == "confirm" and self._lifetime == lifetime:
            self._matched = words
            self._paint()

    def _paint(self, *, afresh: bool = False) -> None:
        opened, context = self.opened, self._session.render_context()
        if opened is None:
            return
        title = plain_text(view.title_line(opened, context, self._held, self._place))
        if title != self._title:  # setting a title paints the whole widget, even if it is the same
            self._title = title
            self.border_title = Content(title)  # a plain string would be read as markup
        offered = self._offered()
        blocks = self._show_choices(offered, self._blocks(opened), afresh=afresh)
        self._folds = any(each.folds for each in blocks)
        shows_all = self.mode not in ("choose", "type") or self._unfolded
        asked, lines = self.query_one(RequestText), lines_of(blocks) if shows_all else self._rows.fitting(blocks)
        asked.show(lines, self._text_name)
        asked.set_class(not lines, "-empty")
        self._ask_for_keys(self._whole_question(opened), offered)
        self._hint()
        self._explain_marked()
        self._fit()

    def _show_choices(self, offered: list[PromptChoice], blocks: list[Block], *, afresh: bool) -> list[Block]:
        """Show the choices, each on a row of its own with what it will do where rows are free; then what is folded of
        `blocks` gets the rows that are left.
        """
        columns = self.query_one(OptionColumns)
        columns.prepare(offered, afresh=afresh, has_free_rows=True)
        if not self._rows.has_room(blocks):
            columns.prepare(offered, afresh=False, has_free_rows=False)
        columns.show()
        if self.mode != "choose" or self._unfolded or self.opened is None or not any(each.folds for each in blocks):
            return blocks
        more = self._more_fold_rows(self.opened, blocks)
        return self._blocks(self.opened, fold_rows=FOLDED_ROWS + more) if more else blocks

    def _more_fold_rows(self, opened: IncidentOpened, blocks: list[Block]) -> int:
        """What was found holds as long as there is as much room."""
        rows = self._rows
        version = self._write.comparison.version if self._write is not None else ""
        room = (f"{opened.incident_id} {version}", opened.revision, rows.text_width, rows.spare(blocks))
        if self._room != room:
            found = rows.more_fold_rows(blocks, lambda fold_rows: self._blocks(opened, fold_rows=fold_rows))
            self._room, self._more_rows = room, found
        return self._more_rows

    @property
    def _rows(self) -> PromptRows:
        """How the rows of the screen are shared, with the choices that were prepared."""
        return PromptRows(
            screen_rows=self.screen.size.height - self._head_rows,
            text_width=self._text_width,
            choice_rows=self.query_one(OptionColumns).rows,
            outcome_rows=self.query_one(OutcomeText).rows,
            chooses=self.mode == "choose" or (self.mode == "confirm" and self._confirms_act),
            beside=self._beside or not self._explained,
        )

    @property
    def _text_width(self) -> int:
        """Cells of a line of what is asked."""
        asked = self.query_one(RequestText)
        return max(1, (asked.visible_size.width or self.screen.size.width - 2) - 2)

    @property
    def _text_name(self) -> str:
        """The name of what is shown of the incident: what is folded is another text than the whole."""
        return f"{self._shown.incident_id}{' folded' if self._folds else ''}"

    def _ask_for_keys(self, question: list[Spans], offered: list[PromptChoice]) -> None:
        """What the next key decides about; an advice changes nothing of that."""
        if self.mode == "sent" or not self._may_act:
            self._arming.disarm()
            return
        about = (self._shown.incident_id, self._shown.revision, self.mode)
        if self.mode == "held":  # an enter that is held down must not send what it has just chosen
            self._arming.ask(about)
            return
        if self.mode == "type":
            self._arming.ask((*about, self._choice.option if self._choice is not None else ""))
        else:
            decides = tuple(
                replace(each, advised=False, proposed=False, looks_first=False, wordings=(), value="")
                for each in offered
            )
            self._arming.ask((*about, decides, tuple(question)), second=self.mode == "confirm")

    def _blocks(self, opened: IncidentOpened, *, fold_rows: int = FOLDED_ROWS) -> list[Block]:
        context = self._session.render_context()
        if self.mode == "confirm" and not self._confirms_act:
            return [Block("", tuple(self._confirm_lines(opened)))]
        asked = opened.question if self.mode == "type" else self.mode == "confirm"
        explained = self._explained and not asked
        found = prompt_blocks(
            opened,
            context,
            self._told,
            explained=explained,
            folded=not self._unfolded,
            fold_chars=fold_rows * max(1, self._text_width - LABEL_CELLS),
            model=self._model,
            proposal=self._proposal,
            write=self._write,
            file_rows=fold_rows,
        )
        if self.mode == "confirm":
            read = [each for each in found if each.label not in ("Why", "Safe")]
            return [Block("", tuple(self._confirm_lines(opened))), *read]
        changes = self.query_one(AnswerField).change_lines if self.mode == "type" else None
        return found if changes is None else [Block("Change", tuple(changes)), *found]

    def _whole_question(self, opened: IncidentOpened) -> list[Spans]:
        """What keys decide about, however much of it is in sight."""
        confirmed = self._confirm_lines(opened) if self.mode == "confirm" else []
        if confirmed and not self._confirms_act:
            return confirmed
        asked = question_lines(opened, self._session.render_context(), self._told, self._proposal, self._write)
        return [*confirmed, *asked]

    @property
    def _confirms_act(self) -> bool:
        """Whether a second key is asked for what would run then: its call stands there to be read."""
        return self._choice is not None and self._choice.confirms in ("in doubt", "breakpoint", "overwrites")

    def _confirm_lines(self, opened: IncidentOpened) -> list[Spans]:
        context = self._session.render_context()
        if self._choice is not None and not self._choice.standing:
            return offers.destroying_lines(self._choice, context)
        words = view.grant_words(opened, self._lifetime)
        lines = [
            span("This grant says:", "ink-muted"),
            *(mark_invisible(mark_confusables(line)) for line in context.sanitize_lines(words)),
        ]
        return [*lines, span(context.sanitize_line(self._matched), "severity-warning")] if self._matched else lines

    def _offered(self) -> list[PromptChoice]:
        assert self.opened is not None
        if self.mode == "lifetime":
            return offers.lifetime_choices()
        if self.mode == "confirm":
            assert self._choice is not None
            does = "Yes, grant this" if self._choice.standing else f"Yes: {self._choice.label}"
            yes = PromptChoice(self._choice.second_key, "yes", does, enter=False)
            return [PromptChoice("escape", LATER_OPTION, "Back"), yes]
        if not self._may_act:
            return offers.view_only_choices()
        context = self._session.render_context()
        runs, file = self._runs_of_breaker(), self._write.comparison.state if self._write is not None else None
        offered = offers.prompt_choices(self.opened, context, self._session.letters, runs=runs, file=file)
        offered += offers.adopting_choices(self.opened, self._proposal, context, runs=runs)
        keys = self._session.link.provider_keys(self.opened.run_id)
        offered = offers.explained_choices(offered, self._told, context, keys)
        if not self._advised:
            return offered
        return [replace(each, advised=each.option == self._advised and not each.standing) for each in offered]

    @property
    def keys(self) -> dict[str, str]:
        """The keys that choose now, each with its label; none while none decides."""
        if self.opened is None or self.mode in ("held", "sent") or not self._may_act:
            return {}
        opens = self._session.glyphs.opens
        return {each.key: each.shown_label(opens) for each in self._offered() if each.option != LATER_OPTION}

    def _runs_of_breaker(self) -> int:
        """How many runs wait for the breaker that this incident is about."""
        breaker = self._shown.action.get("breaker")
        waiting = self._session.link.incidents.values()
        return len({each.run_id for each in waiting if breaker and each.opened.action.get("breaker") == breaker})

    def _hint(self) -> None:
        below = lines_below(self.query_one(RequestText).lines_below, self._session.glyphs)
        deadline = view.deadline_line(self.opened, self._session.render_context()) if self.opened is not None else ()
        tab = self._session.render_context().key("run.next_pane", "tab")
        has_page = self._beside or not self._explained
        more = span(f"{tab} report", "ink-muted") if not (has_page or below or self._note) else ()
        right = join_spans((deadline, below, more if self.mode == "choose" else ()))
        self.query_one("#hint", Bar).show(self._note or self._usual_hint(), right)

    def _usual_hint(self) -> Spans:
        if self.mode == "held":
            return held_hint(self._sends_in)
        if self.mode == "sent":
            return span("sent, waits for the runtime", "ink-muted")
        if not self._may_act:
            return span(f"{VIEW_ONLY}: this login may not answer; {self._session.who_may}", "severity-warning")
        if self.mode == "type" and self._choice is not None and self.opened is not None:
            return self._typing_hint(self.opened, self._choice)
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

    def _typing_hint(self, opened: IncidentOpened, choice: PromptChoice) -> Spans:
        """What is wanted, and how it is sent."""
        field = self.query_one(AnswerField)
        kept = " (kept)" if field.keeps_typed else " (ticks lost)" if field.loses_ticks else ""
        keys = {**field.keys(), "esc": f"other options{kept}" if self._by_itself else "goes back"}
        kind = "" if field.says_what else wanted_words(opened, choice, self._session.render_context())
        soon = () if self.armed or not self._by_itself else span("keys count in a moment", "ink-muted")
        told = (self._arming.ignored_text(), soon, span(kind, "ink-accent"), span(field.warning, "severity-warning"))
        label = "" if opened.question and effect_of(choice.option) == "input" else choice.label
        return typing_hint("" if field.picks_several else label, keys, told, self._session.glyphs)

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

    def take_focus(self) -> None:
        """Put the focus where the answer is given: on the choice that does nothing, or in the field."""
        if self.mode != "type":
            self._focus_on(self.query_one(OptionColumns))
        elif self.armed:
            self._focus_on(self.query_one(AnswerField).input)
        else:
            self._focus_on(self.query_one(RequestText))
            self._opens_field = True

    def _focus_on(self, widget: Widget) -> None:
        """Give `widget` the focus now. `Widget.focus` leaves it to the app, which may come to it after keys count."""
        self.screen.set_focus(widget)

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
            self.opened is not None
            and not self._write_awaited
            and (asked.is_shown(self._text_name) or asked.has_class("-empty"))
        )

    def _armed_changed(self) -> None:
        """Keys count from now on, or no longer."""
        if self.opened is None or not self.is_attached:
            return
        if self._opens_field and self.armed:
            self._opens_field = False
            if self.screen.focused in (None, self.query_one(RequestText)):  # the operator looks at nothing else
                self._focus_on(self.query_one(AnswerField).input)
        self._hint()

    @property
    def _shown(self) -> IncidentOpened:
        assert self.opened is not None
        return self.opened
