"""The run page: the live tree, the node under the cursor, and the prompt of a decision."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import Input, TextArea

from runtime.judgement.recovery.options import OPTION_LABELS
from runtime.judgement.reports.wait_graph import wait_chain
from runtime.judgement.reports.waiting_nodes import nodes_waiting_on
from runtime.link.client.client import LinkError
from runtime.record.state.durable_run import DurableRun, Incident
from screens.base.screen_registry import SCREENS
from screens.dialogs import bulk_hint
from screens.dialogs.confirm_action import RunActionScreen
from screens.pages.run_detail import DetailPages
from screens.render.layout import (
    Column,
    Spans,
    join_spans,
    span,
)
from screens.render.tree_outline import OutlineSource
from screens.shell.context import ConsoleContext
from screens.shell.messages import OpenPlace
from screens.views.lists.runs import head_line, title_of
from screens.views.run import timeline
from screens.views.run.report import advised_option
from screens.views.run.status import status_line
from screens.views.run.tree import COLUMNS, RunTree, filter_nodes
from screens.views.shared.row_filter import RowFilter
from screens.widgets.bar import Bar
from screens.widgets.line_list import LineList
from screens.widgets.node_tree import NodeTree
from screens.widgets.pattern_input import PatternInput
from screens.widgets.prompt import Prompt
from screens.widgets.text_page import TextPage

_ZOOMS = ("", "-tree", "-page")
_LINE_FROM = 100
"""Cells of a screen from which on the head has room for the run's timeline, and how wide that is."""
_LINE = 30


class RunScreen(RunActionScreen):
    """Watches its run for as long as it is open."""

    CSS_PATH = "run.tcss"
    BINDING_GROUP_TITLE = "Run"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", "Next pane", show=False, id="run.next_pane"),
        Binding("w", "waits", "Waits", tooltip="What this waits for, down to what holds it up", id="run.waits"),
        Binding("f", "find_fault", "Fault", show=False, tooltip="The node that the decision is about",
                id="run.find_fault"),
        Binding("T", "timeline", "Timeline", show=False, tooltip="Bars over time in place of the page",
                id="run.timeline"),
        Binding("z", "zoom", "Zoom", show=False, id="run.zoom"),
        Binding("slash", "filter", "Filter", key_display="/", show=False,
                tooltip="Only nodes that have these words, or match; ! turns it round", id="run.filter"),
        Binding("F", "faults_only", "Faults only", show=False, id="run.faults"),
        Binding("L", "log", "The run's log", show=False, id="run.log"),
    ]  # fmt: skip

    def __init__(self, session: ConsoleContext, run_id: str, incident_id: str = "") -> None:
        super().__init__(session)
        self.run_id = run_id
        self.filter = RowFilter()
        self.faults_only = False
        self._wanted = incident_id
        self._began = False
        self._revealed = ""
        self._placed = ""
        self._since: datetime | None = None
        self._only: frozenset[str] | None = None
        self._line: tuple[object, Spans] = (None, ())
        self._pages = DetailPages()
        self._by_cursor = False
        """The operator moved the cursor: what it brings does not take the focus."""
        self._replied = ""
        """The incident of which the runtime's reply to our own answer has told."""

    def body(self) -> ComposeResult:
        ellipsis = self.session.glyphs.ellipsis
        yield Bar(id="head", ellipsis=ellipsis)
        yield Bar(id="status", ellipsis=ellipsis)
        with Container(id="panes"):
            tree = NodeTree(COLUMNS, empty="Asking for the run", glyphs=self.session.glyphs, id="tree")
            tree.border_title = "Nodes"
            yield tree
            yield TextPage(links=True, id="page")
        yield Prompt(self.session, id="prompt")

    def on_mount(self) -> None:
        self.link.watch(self.run_id)

    def on_unmount(self) -> None:
        self.link.unwatch(self.run_id)

    def on_resize(self) -> None:
        self.pace.request()

    def go_to(self, incident_id: str) -> None:
        """Show another decision of this run."""
        self._wanted = incident_id
        self.pace.request()

    @property
    def nodes(self) -> NodeTree:
        return self.query_one("#tree", NodeTree)

    @property
    def page(self) -> TextPage:
        return self.query_one("#page", TextPage)

    @property
    def prompt(self) -> Prompt:
        return self.query_one("#prompt", Prompt)

    # -- what is shown ---------------------------------------------------------------------------------------

    def crumbs(self) -> Spans:
        summary = self.link.summaries.get(self.run_id)
        here = self.trail(title_of(summary, self.session.looks()) if summary is not None else self.run_id)
        words = self.session.looks().line(self.filter.text, 60)
        return join_spans(
            (
                here,
                (*span("/", "ink-key"), *span(words, "ink-accent")) if words else (),
                span(self.session.looks().line(self.filter.problem, 80), "severity-error"),
                span("faults only", "state-failed") if self.faults_only else (),
            )
        )

    @property
    def incident_id(self) -> str:
        opened = self.prompt.opened
        return opened.incident_id if opened is not None else ""

    @property
    def decision_options(self) -> Collection[str]:
        opened = self.prompt.opened
        return [option.id for option in opened.options] if opened is not None else ()

    def draw(self) -> None:
        state = self.link.run(self.run_id)
        if state is None:
            problem = self.link.problem(self.run_id)
            self.page.show([span(self.session.looks().line(problem), "severity-error")], "problem")
            return
        self.check_run_ended(state)
        self._draw_head(state)
        self._draw_tree(state)
        incident = self._to_decide(state)
        if incident is not None and self._revealed != incident.opened.incident_id and incident.opened.node_id:
            self._revealed = incident.opened.incident_id
            self._move_cursor(incident.opened.node_id)
        self._draw_page(state)
        self._draw_prompt(state, incident)

    def _draw_head(self, state: DurableRun) -> None:
        looks = self.session.looks()
        self.query_one("#head", Bar).show(head_line(state, looks), self._run_line(state))
        words = status_line(state, looks)
        status = self.query_one("#status", Bar)
        status.show(words)
        status.set_class(bool(words), "-shown")

    def _run_line(self, state: DurableRun) -> Spans:
        """The run's timeline in the head; looked at less often where that takes longer."""
        if self.size.width < _LINE_FROM:
            return ()
        looks = self.session.looks()
        every = 1 + len(state.nodes) // 2000
        seen = (state.phase, state.terminal or int(looks.now.timestamp()) // every)
        if seen != self._line[0]:
            self._line = (seen, timeline.run_line(state, looks, _LINE))
        return self._line[1]

    def _draw_tree(self, state: DurableRun) -> None:
        looks, tree = self.session.looks(), self.nodes
        if self._since is None:
            self._since = looks.now
        only = filter_nodes(state, self.filter, faults_only=self.faults_only)
        if only != self._only:
            self._only = only
        tree.empty = looks.nothing_matches() if self._only is not None else "Nothing has run yet"
        title = span("Nodes", "")
        shown: OutlineSource = RunTree(state, looks, self._only, self._since)
        columns: tuple[Column, ...] = COLUMNS
        if self.query_one("#panes").has_class("-timeline"):
            columns = timeline.COLUMNS
            scale = timeline.scale_of(state, looks.now, tree.width_of(columns, timeline.BAR))
            shown = timeline.Timeline(state, looks, self._only, self._since, scale)
            title = join_spans((span("Timeline", ""), scale.words(looks)))
        tree.show(shown, columns)
        words = Content("".join(piece.text for piece in title))
        if tree.border_title != words.markup:
            tree.border_title = words

    def _to_decide(self, state: DurableRun) -> Incident | None:
        """The decision to show: the one that was asked for, else that of the node under the cursor, else the oldest."""
        waiting = {found.opened.incident_id: found for found in state.open_incidents}
        if not waiting:
            return None
        node = state.nodes.get(self.nodes.cursor_key)
        here = next((key for key in (node.incidents if node is not None else ()) if key in waiting), "")
        oldest = min(waiting.values(), key=lambda found: (found.opened.ts, found.opened.incident_id))
        for key in (self._wanted, here, self.incident_id):
            if key in waiting:
                return waiting[key]
        return oldest

    def _draw_prompt(self, state: DurableRun, incident: Incident | None) -> None:
        """One decision follows another where the focus was: in the prompt, or wherever the operator looks around."""
        prompt = self.prompt
        was_in_prompt = prompt.has_focus_within or not self._began
        before = state.incidents.get(prompt.opened.incident_id) if prompt.opened is not None else None
        if before is not None and not before.open:
            if prompt.mode not in ("type", "sent") and before.opened.incident_id != self._replied:
                self.show_message(self._outcome(before))
            prompt.put_away(self._outcome(before))
        another = False
        if incident is not None:
            held = len(nodes_waiting_on(state, incident.opened.node_id))
            may_act = self.session.may_act(self.run_id)
            another = prompt.ask(incident.opened, held, advised_option(incident), may_act=may_act)
        takes_focus = was_in_prompt or (another and prompt.mode == "type" and not self._by_cursor)
        if takes_focus and (another or not isinstance(self.focused, TextArea | Input)):
            if prompt.opened is None:
                self.nodes.focus()
            elif another or not prompt.has_focus_within:
                prompt.take_focus()
        self._began, self._by_cursor = True, False

    def _outcome(self, incident: Incident) -> str:
        if incident.answer is None:
            return f"This was closed: {incident.closed}."
        label = next((each.label for each in incident.opened.options if each.id == incident.answer.option), "")
        return f"{incident.answer.by.name or 'Somebody'} answered this: {label or incident.answer.option}."

    def _draw_page(self, state: DurableRun) -> None:
        key = self.nodes.cursor_key
        shown = self._pages.page_for(state, key, self.incident_id, self.session.looks(), self.link)
        self.page.show(shown.lines, shown.name, at_end=shown.at_end)
        self._title_page(shown.title)

    def _title_page(self, title: str = "") -> None:
        page = self.page
        title = title or str(page.border_title or "").partition("  ")[0]
        more = f"  {self.session.glyphs.more} {page.lines_below} more" if page.lines_below else ""
        if page.border_title != title + more:
            page.border_title = Content(title + more)

    def _move_cursor(self, node_id: str) -> bool:
        """Put the cursor somewhere on behalf of what is shown: what is shown does not follow it."""
        if self.nodes.cursor_key == node_id:
            return True
        if not self.nodes.reveal(node_id):
            return False
        self._placed = node_id
        return True

    # -- looking around --------------------------------------------------------------------------------------

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        """Page and decision follow the cursor, unless the cursor followed them."""
        if message.key == self._placed:
            self._placed = ""
        else:
            self._wanted, self._by_cursor = "", True
            self._pages.follow_cursor()
        self.pace.request()

    def on_text_page_seen(self, _message: TextPage.Seen) -> None:
        self._title_page()

    def on_line_list_chosen(self, _message: LineList.Chosen) -> None:
        self.query_one("#panes").remove_class("-timeline", "-tree")
        self.page.focus()
        self.pace.request()

    def action_waits(self) -> None:
        """What the node under the cursor waits for; the cursor goes to what holds it up. Again: back to the page."""
        state = self.link.run(self.run_id)
        if state is None:
            return
        if self._pages.asks_waits:
            self._pages.follow_cursor()
        else:
            asked = self.nodes.cursor_key
            self._pages.ask_waits(asked)
            found = wait_chain(state, asked)
            if found.node_id:
                self._widen_for(found.node_id)
                self._move_cursor(found.node_id)
            if found.incident_id:
                self._wanted = found.incident_id
        self.query_one("#panes").remove_class("-timeline", "-tree")
        self.pace.request()

    def _widen_for(self, node_id: str) -> None:
        """What is to be shown must not be left out."""
        if self._only is not None and node_id not in self._only:
            self._show_all()

    def on_text_page_followed(self, message: TextPage.Followed) -> None:
        """A reference to an event: show the event, and the node it is about."""
        number = "".join(filter(str.isdecimal, message.text))
        self.run_worker(self._show_event(int(number)), group="event", exclusive=True, exit_on_error=False)

    async def _show_event(self, seq: int) -> None:
        try:
            found = await self.link.command("events", run_id=self.run_id, after=seq - 1, limit=1)
        except LinkError as exc:
            self.show_message(str(exc), "error")
            return
        if not found:
            self.show_message(f"There is no event {seq} in this run.", "warning")
            return
        self._pages.show_event(seq, found[0])
        node_id = str(found[0].get("node_id", ""))
        if node_id:
            self._widen_for(node_id)
            self._move_cursor(node_id)
        self.pace.request()

    def action_timeline(self) -> None:
        """Bars over time beside the nodes, in place of the page; and back."""
        panes = self.query_one("#panes")
        panes.remove_class(*_ZOOMS[1:])
        panes.toggle_class("-timeline")
        self.nodes.focus()
        self.call_after_refresh(self.pace.request)

    def action_zoom(self) -> None:
        """Both panes; the tree alone; the page alone."""
        panes = self.query_one("#panes")
        panes.remove_class("-timeline")
        now = next((zoom for zoom in _ZOOMS[1:] if panes.has_class(zoom)), "")
        following = _ZOOMS[(_ZOOMS.index(now) + 1) % len(_ZOOMS)]
        for zoom in _ZOOMS[1:]:
            panes.set_class(zoom == following, zoom)
        if following:
            self.query_one(f"#{following[1:]}").focus()
        self.pace.request()

    def action_find_fault(self) -> None:
        """Put the cursor on the node that the decision is about; on the next one, if it is there already."""
        state = self.link.run(self.run_id)
        waiting = [found for found in self.session.decisions() if found.run_id == self.run_id and found.opened.node_id]
        if state is None or not waiting:
            self.show_message("Nothing waits for a decision in this run.")
            return
        tree = self.nodes
        nodes = [found.opened.node_id for found in waiting]
        at = nodes.index(tree.cursor_key) + 1 if tree.cursor_key in nodes else 0
        tree.reveal(nodes[at % len(nodes)])

    def action_log(self) -> None:
        self.post_message(OpenPlace("log", self.run_id))

    # -- what is left out ------------------------------------------------------------------------------------

    def action_faults_only(self) -> None:
        """Only what waits, failed or is tried again, and what is above it; and back."""
        self.faults_only = not self.faults_only
        self.pace.request()

    def action_filter(self) -> None:
        """Type a pattern; the one in force stands there to be changed."""
        if not self.query("#filter"):
            field = PatternInput(self.filter.text, id="filter")
            self.mount(field, before="#prompt")
            field.focus()

    def on_input_changed(self, message: Input.Changed) -> None:
        if message.input.id == "filter":
            self.filter = RowFilter(message.value)
            self.pace.request()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        if message.input.id == "filter":
            self._end_typing()

    def _end_typing(self) -> None:
        self.query("#filter").remove()
        self.nodes.focus()
        self.refresh_bindings()
        self.pace.request()

    def _show_all(self) -> None:
        """Nothing is left out any more, at once."""
        self.filter, self.faults_only = RowFilter(), False
        state = self.link.run(self.run_id)
        if state is not None:
            self._draw_tree(state)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In the prompt `escape` is the prompt's; it leads from the page to the tree; there it takes back what is left
        out, and then goes back.
        """
        if action == "up" and self.is_mounted:
            if self.prompt.has_focus_within and self.prompt.mode != "sent":
                return False
            return self.page.has_focus or self._narrowed or super().check_action(action, parameters)
        if action == "log":
            return "log" in SCREENS
        if action == "login" and self.is_mounted and self.prompt.opened is not None and self._link_stands:
            return False  # another host wants it; here its key is that of a decision
        return super().check_action(action, parameters)

    @property
    def _link_stands(self) -> bool:
        """Whether the runtime that this run is on is there."""
        where = self.link.host_of(self.run_id)
        links = [each for each in self.link.qualities if each.host == where] or self.link.qualities
        return any(each.phase == "connected" for each in links)

    @property
    def _narrowed(self) -> bool:
        return bool(self.filter.text or self.faults_only or self.query("#filter"))

    def action_up(self) -> None:
        """From the page to the tree; show all again; where all is shown, go back."""
        if self.page.has_focus:
            self.query_one("#panes").remove_class("-page")
            self.nodes.focus()
        elif self._narrowed:
            self._show_all()
            self._end_typing()
        else:
            super().action_up()

    # -- what is done ----------------------------------------------------------------------------------------

    def acting_on(self) -> tuple[DurableRun | None, str]:
        return self.link.run(self.run_id), self.nodes.cursor_key

    def on_key(self, event: events.Key) -> None:
        """Keys that nobody took: the prompt's letters count wherever the focus is, but never inside a text field."""
        if self.prompt.take_key(event):
            event.stop()

    def on_prompt_left(self, _message: Prompt.Left) -> None:
        self.nodes.focus()

    def on_prompt_proposed(self, message: Prompt.Proposed) -> None:
        self.run_worker(self._look_back(message), group="preview", exclusive=True, exit_on_error=False)

    async def _look_back(self, proposed: Prompt.Proposed) -> None:
        params = {"for": proposed.lifetime}
        try:
            found = await self.link.command("preview", incident_id=proposed.incident_id, params=params)
            words = f"It {found['sentence']}."
        except LinkError as exc:
            words = f"What it would have matched is not known: {exc}"
        self.prompt.show_preview(proposed.incident_id, proposed.lifetime, words)

    def on_prompt_answered(self, message: Prompt.Answered) -> None:
        self.run_worker(self._answer(message), group="answer", exit_on_error=False)

    async def _answer(self, answered: Prompt.Answered) -> None:
        args: dict[str, Any] = {
            "incident_id": answered.incident_id,
            "option": answered.option,
            "params": answered.params,
            "revision": answered.revision,
        }
        asked = self.link.incidents.get(answered.incident_id)
        try:
            await self.link.command("answer", **args)
        except LinkError as exc:
            self._replied = answered.incident_id
            prompt = self.prompt
            if prompt.opened is not None and prompt.opened.incident_id == answered.incident_id:
                prompt.show_refusal(str(exc))
            self.show_message(str(exc), "error")
        else:
            again = self.session.looks().key("run.rewind", "R") if answered.option in ("abort", "skip") else ""
            how = f" {again} starts again from here." if again else ""
            self.show_message(f"The answer is taken: {OPTION_LABELS.get(answered.option, answered.option)}.{how}")
            if asked is not None:
                bulk_hint.watch_answer(self.app, self.session, asked)
        self.pace.request()
