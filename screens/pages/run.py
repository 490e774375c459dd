"""The run page: its head, what its tree leaves out, and its keys. Panes and decision are objects of their own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from runtime.link.client.client import LinkError
from runtime.operations.requests.reports import ExportRun
from runtime.record.state.durable_run import DurableRun
from screens.base.screen_registry import SCREENS
from screens.dialogs.confirm_action import RunActionScreen
from screens.pages.run_decision import RunDecision
from screens.pages.run_detail import DetailPages
from screens.pages.run_filter import NodeFilter
from screens.pages.run_graph import GraphView
from screens.pages.run_head import RunHead
from screens.pages.run_jumps import RunJumps
from screens.pages.run_panes import RunPanes
from screens.pages.run_progress import RunProgress
from screens.render.layout import Spans, span
from screens.shell.answer_hold import HeldAnswer
from screens.shell.context import ConsoleContext
from screens.shell.messages import ExportReport, OpenComparison, OpenPlace
from screens.views.decisions.prompt_rows import PromptSpace
from screens.views.lists.runs import title_of
from screens.widgets.line_list import LineList
from screens.widgets.node_tree import NodeTree
from screens.widgets.prompts.prompt import Prompt
from screens.widgets.text_page import TextPage


class RunScreen(RunActionScreen):
    """Watches its run for as long as it is open."""

    CSS_PATH = "run.tcss"
    BINDING_GROUP_TITLE = "Run"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "next_pane", "Next pane", show=False, id="run.next_pane"),
        Binding("w", "waits", "Why it waits", tooltip="What this waits for, down to what holds it up", id="run.waits"),
        Binding("f", "find_fault", "Fault", show=False, tooltip="The node that the decision is about",
                id="run.find_fault"),
        Binding("T", "timeline", "Timeline", show=False, tooltip="A timeline in place of the page",
                id="run.timeline"),
        Binding("z", "zoom", "Zoom", show=False, id="run.zoom"),
        Binding("slash", "filter", "Filter", key_display="/", show=False,
                tooltip="Show only nodes with these words, or that match a regular expression; ! hides them",
                id="run.filter"),
        Binding("F", "faults_only", "Faults only", show=False, id="run.faults"),
        Binding("L", "log", "The run's log", show=False, id="run.log"),
        Binding("ctrl+g", "guide", "Tour", show=False, tooltip="Hide or show the tour's text", id="run.guide"),
        Binding("H", "report", "Report", show=False, tooltip="Write a report of the run for a browser (HTML)",
                id="run.report"),
        Binding("C", "compare", "Compare", show=False, tooltip="Where this fork and its origin differ",
                id="run.compare"),
    ]  # fmt: skip

    def __init__(self, session: ConsoleContext, run_id: str, incident_id: str = "") -> None:
        super().__init__(session)
        self.run_id = run_id
        self._filter = NodeFilter(self.pace.request, self._end_typing)
        self._progress = RunProgress(self)
        self._decision = RunDecision(self, incident_id, self._progress)
        self._revealed = ""
        self._standing_of_link: tuple[object, ...] = ()
        self._pages = DetailPages(session)

    def body(self) -> ComposeResult:
        yield RunHead(self.session)
        yield RunPanes(self.session)
        yield Prompt(self.session, id="prompt")

    def on_mount(self) -> None:
        self.link.watch(self.run_id)

    def on_unmount(self) -> None:
        self.link.unwatch(self.run_id)

    def link_changed(self) -> None:
        """What changed in nodes out of sight alone is left to the clock: the figures of the head, once a second."""
        link = self.link
        state, standing = link.run(self.run_id), (link.status.phase, len(link.incidents))
        if state is None or link.loading or standing != self._standing_of_link or not self.panes.as_shown(state):
            self._standing_of_link = standing
            super().link_changed()

    def on_resize(self) -> None:
        self.pace.request()

    def go_to(self, incident_id: str) -> None:
        """Show another decision of this run."""
        self._decision.wanted = incident_id
        self.pace.request()

    @cached_property
    def panes(self) -> RunPanes:
        """Asked for many times in each frame."""
        return self.query_one(RunPanes)

    @cached_property
    def _jumps(self) -> RunJumps:
        return RunJumps(self, self.panes, self._pages, self._decision, self._filter)

    @property
    def nodes(self) -> NodeTree:
        return self.panes.nodes

    @property
    def page(self) -> TextPage:
        return self.panes.page

    @property
    def prompt(self) -> Prompt:
        return self._decision.prompt

    # -- what is shown ---------------------------------------------------------------------------------------

    def crumbs(self) -> Spans:
        summary = self.link.summaries.get(self.run_id)
        context = self.session.render_context()
        here = self.trail(title_of(summary, context) if summary is not None else self.run_id)
        return self._filter.crumbs(here, context)

    @property
    def incident_id(self) -> str:
        return self._decision.incident_id

    @property
    def decision_keys(self) -> Mapping[str, str]:
        return self.prompt.keys

    def draw(self) -> None:
        state = self.link.run(self.run_id)
        if state is None:
            problem = self.link.problem(self.run_id)
            self.page.show([span(self.session.render_context().sanitize_line(problem), "severity-error")], "problem")
            return
        self.check_run_ended(state)
        here = self.nodes.cursor_key
        self._filter.draw(state, self.panes)
        if here and self._filter.hides(here):
            self._pages.follow_cursor()  # what was asked for of a node goes with it
        graph_is_wide = self.panes.show_graph(state)
        self._progress.tell(state, self.panes)
        incident = self._decision.choose(state, self.nodes.cursor_key)
        if incident is not None and self._revealed != incident.opened.incident_id and incident.opened.node_id:
            self._revealed = incident.opened.incident_id
            self.panes.move_cursor(incident.opened.node_id)
        head = self.query_one(RunHead)
        head.show(state, incident.opened.incident_id if incident is not None else "", has_graph=graph_is_wide)
        has_report = self._pages.shows_report_of(state, self.nodes.cursor_key, incident)
        self.panes.set_class(incident is not None and has_report and not self._is_roomy, "-told")
        told = not (self._is_roomy and has_report)
        self.panes.show_page(self._pages.page_for(state, self.nodes.cursor_key, self.incident_id, explained=told))
        explained = self._is_roomy or not ((has_report and self.page.display) or self._pages.was_asked)
        self._decision.show(state, incident, self.nodes, PromptSpace(explained, self._is_roomy, head.extra_rows))

    @property
    def _is_roomy(self) -> bool:
        """Whether the page beside the nodes has room for a full report; the prompt above its keys explains."""
        return self.has_class("-wide") and self.has_class("-high")

    def action_guide(self) -> None:
        """Hide what the tour says, or show it again."""
        if self.session.guide_hidden:
            self.session.guide_hidden.clear()
        else:
            self.session.guide_hidden.append(True)
        self.pace.request()

    def on_run_panes_side_resized(self) -> None:
        """Whether the graph of the swarm has room depends on it."""
        self.pace.request()

    def on_graph_view_chosen(self, message: GraphView.Chosen) -> None:
        """To the member's node, as a click in the tree."""
        self._jumps.to_node(message.node_id)
        self.pace.request()

    # -- looking around --------------------------------------------------------------------------------------

    def action_next_pane(self) -> None:
        """The next field of a form, else the next pane. Where the prompt has the report, the page comes in place of
        the nodes.
        """
        alone = self._is_roomy or self.prompt.opened is None or self.panes.has_class("-timeline")
        if alone or self.prompt.has_next_field:
            self.app.action_focus_next()
        elif self.prompt.has_focus_within:
            self.panes.show_page_alone()
        elif self.page.has_focus:
            self.panes.leave_page()
        else:
            self.prompt.take_focus()
        self.pace.request()

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        """Page and decision follow the cursor that the operator moved."""
        message.stop()
        if message.by_operator:
            self._decision.follow_cursor()
            self._progress.cursor_moved()
            self._pages.follow_cursor()
        self.pace.request()

    def on_line_list_chosen(self, _message: LineList.Chosen) -> None:
        if self.panes.has_class("-told"):
            self.panes.show_page_alone()
        else:
            self.panes.show_beside()
            self.page.focus()
        self.pace.request()

    def action_waits(self) -> None:
        """What the node under the cursor waits for, and back to its page."""
        self._jumps.to_waits()
        self.pace.request()

    def action_find_fault(self) -> None:
        """The node that the decision is about, or the next one."""
        self._jumps.to_fault()

    def on_text_page_followed(self, message: TextPage.Followed) -> None:
        """A reference to an event: show the event, and the node it is about."""
        number = "".join(filter(str.isdecimal, message.text))
        self.run_worker(self._jumps.to_event(int(number)), group="event", exclusive=True, exit_on_error=False)

    def action_report(self) -> None:
        self.run_worker(self._export_report(), group="report", exclusive=True, exit_on_error=False)

    async def _export_report(self) -> None:
        try:
            found = await self.link.ask(ExportRun(run_id=self.run_id))
        except LinkError as exc:
            self.show_message(str(exc), "error")
            return
        self.post_message(ExportReport(self.run_id, found.text))

    def action_compare(self) -> None:
        self.post_message(OpenComparison(self._origin_id, self.run_id))

    @property
    def _origin_id(self) -> str:
        """The run of which this is a fork; empty where it is not one."""
        state = self.link.run(self.run_id)
        return state.fork_origin[0] if state is not None else ""

    def why_not(self, action: str) -> str:
        if action == "compare" and not self._origin_id:
            return "this run is not a fork; any two runs are compared from their list, where they are selected"
        return super().why_not(action)

    def action_timeline(self) -> None:
        """Bars over time beside the nodes, in place of the page; and back."""
        self.panes.toggle_timeline()
        self.call_after_refresh(self.pace.request)

    def action_zoom(self) -> None:
        """Both panes; the tree alone; the page alone."""
        self.panes.zoom()
        self.pace.request()

    def action_log(self) -> None:
        self.post_message(OpenPlace("log", self.run_id))

    # -- what is left out ------------------------------------------------------------------------------------

    def action_faults_only(self) -> None:
        """Only what waits, failed or is tried again, and what is above it; and back."""
        self._filter.faults_only = not self._filter.faults_only
        self.pace.request()

    def action_filter(self) -> None:
        """Type a pattern."""
        if (field := self._filter.begin_typing()) is not None:
            self.mount(field, before="#prompt")
            field.focus()

    def _end_typing(self) -> None:
        self._filter.end_typing()
        self.nodes.focus()
        self.refresh_bindings()
        self.pace.request()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In the prompt `escape` is the prompt's; it leads from the page to the tree; there it takes back what is left
        out, and then goes back.
        """
        if action == "up" and self.is_mounted:
            if self.prompt.has_focus_within and self.prompt.mode not in ("held", "sent"):
                return False
            return self.page.has_focus or self._filter.is_on or super().check_action(action, parameters)
        if action == "log":
            return "log" in SCREENS
        if action == "compare":
            return bool(self._origin_id) or None
        if action == "login" and self.is_mounted and self.prompt.opened is not None and self._link_stands:
            return False  # another host wants it; here its key is that of a decision
        return super().check_action(action, parameters)

    @property
    def _link_stands(self) -> bool:
        """Whether the runtime that this run is on is there."""
        where = self.link.host_of(self.run_id)
        links = [each for each in self.link.qualities if each.host == where] or self.link.qualities
        return any(each.phase == "connected" for each in links)

    def action_up(self) -> None:
        """From the page to the tree; show all again; where all is shown, go back."""
        if self.page.has_focus:
            self.panes.leave_page()
        elif self._filter.is_on:
            self._jumps.show_all()
            self._end_typing()
        else:
            super().action_up()

    # -- what is done ----------------------------------------------------------------------------------------

    def acting_on(self) -> tuple[DurableRun | None, str]:
        return self.link.run(self.run_id), self.nodes.cursor_key

    def on_key(self, event: events.Key) -> None:
        """Keys that no widget took: the prompt's letters count wherever the focus is, but never inside a text field."""
        if self.prompt.take_key(event):
            event.stop()

    def on_prompt_left(self, _message: Prompt.Left) -> None:
        self.nodes.focus()

    def on_prompt_proposed(self, message: Prompt.Proposed) -> None:
        self.run_worker(self._decision.preview_grant(message), group="preview", exclusive=True, exit_on_error=False)

    def on_prompt_taken_back(self, _message: Prompt.TakenBack) -> None:
        self.action_take_back()

    def on_prompt_sent_now(self, _message: Prompt.SentNow) -> None:
        self.app.run_worker(self.session.hold.send_now(), group="held", exit_on_error=False)

    def took_back(self, held: HeldAnswer) -> None:
        if not self._decision.took_back(held):
            super().took_back(held)

    @property
    def shows_hold(self) -> bool:
        return self.prompt.mode == "held"

    def on_prompt_answered(self, message: Prompt.Answered) -> None:
        self.run_worker(self._decision.answer(message), group="answer", exit_on_error=False)
