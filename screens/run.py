"""One run: its live tree, what is known of the node under the cursor, and the prompt of a decision that waits."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import TextArea

from runtime.judgement.report import build
from runtime.link.client import LinkError
from runtime.record.state import Incident, RunState
from screens.layout import Spans, span
from screens.link import Session
from screens.linked import LinkedScreen
from screens.messages import OpenHome
from screens.views.report import answer_lines, report_lines, traceback_lines
from screens.views.runs import head_line, outcome_lines, title_of
from screens.views.tree import COLUMNS, RunTree, detail_lines
from screens.widgets.bar import Bar
from screens.widgets.livelines import LiveLines
from screens.widgets.livepage import LivePage
from screens.widgets.livetree import LiveTree
from screens.widgets.prompt import Prompt

_ZOOMS = ("", "-tree", "-page")


class RunScreen(LinkedScreen):
    """Watches its run for as long as it is open."""

    CSS_PATH = "run.tcss"
    BINDING_GROUP_TITLE = "Run"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Inbox", key_display="esc", id="run.back"),
        Binding("tab", "app.focus_next", "Next pane", show=False, id="run.next_pane"),
        Binding("z", "zoom", "Zoom", id="run.zoom"),
        Binding("f", "find_fault", "Fault", tooltip="The node that the decision is about", id="run.find_fault"),
    ]

    def __init__(self, session: Session, run_id: str, incident_id: str = "") -> None:
        super().__init__(session)
        self.run_id = run_id
        self._wanted = incident_id
        self._began = False
        self._revealed = ""
        self._placed = ""

    def body(self) -> ComposeResult:
        yield Bar(id="head", ellipsis=self.session.glyphs.ellipsis)
        with Container(id="panes"):
            tree = LiveTree(COLUMNS, empty="Asking for the run", glyphs=self.session.glyphs, id="tree")
            tree.border_title = "Nodes"
            yield tree
            yield LivePage(id="page")
        yield Prompt(self.session, id="prompt")

    def on_mount(self) -> None:
        self.link.watch(self.run_id)

    def on_unmount(self) -> None:
        self.link.unwatch(self.run_id)

    def go_to(self, incident_id: str) -> None:
        """Show another decision of this run."""
        self._wanted = incident_id
        self.pace.request()

    # -- what is shown ---------------------------------------------------------------------------------------

    def crumbs(self) -> Spans:
        summary = self.link.summaries.get(self.run_id)
        return self.trail(title_of(summary, self.session.looks()) if summary is not None else self.run_id)

    @property
    def incident_id(self) -> str:
        opened = self.query_one("#prompt", Prompt).opened
        return opened.incident_id if opened is not None else ""

    def draw(self) -> None:
        state = self.link.run(self.run_id)
        if state is None:
            problem = self.link.problem(self.run_id)
            self.query_one("#page", LivePage).show(
                [span(self.session.looks().line(problem), "severity-error")], "problem"
            )
            return
        looks = self.session.looks()
        self.query_one("#head", Bar).show(head_line(state, looks))
        tree = self.query_one("#tree", LiveTree)
        tree.show(RunTree(state, looks))
        incident = self._to_decide(state)
        if incident is not None and self._revealed != incident.opened.incident_id and incident.opened.node_id:
            self._revealed = incident.opened.incident_id
            if tree.cursor_key != incident.opened.node_id and tree.reveal(incident.opened.node_id):
                self._placed = incident.opened.node_id
        self._draw_page(state)
        self._draw_prompt(state, incident)

    def _to_decide(self, state: RunState) -> Incident | None:
        """The decision to show: the one that was asked for, else that of the node under the cursor, else the oldest."""
        waiting = {found.opened.incident_id: found for found in state.open_incidents}
        if not waiting:
            return None
        node = state.nodes.get(self.query_one("#tree", LiveTree).cursor_key)
        here = next((key for key in (node.incidents if node is not None else ()) if key in waiting), "")
        oldest = min(waiting.values(), key=lambda found: (found.opened.ts, found.opened.incident_id))
        for key in (self._wanted, here, self.incident_id):
            if key in waiting:
                return waiting[key]
        return oldest

    def _draw_prompt(self, state: RunState, incident: Incident | None) -> None:
        """One decision follows another where the focus was: in the prompt, or wherever the operator looks around."""
        prompt = self.query_one("#prompt", Prompt)
        was_in_prompt = prompt.has_focus_within or not self._began
        before = state.incidents.get(prompt.opened.incident_id) if prompt.opened is not None else None
        if before is not None and not before.open:
            prompt.put_away(self._outcome(before))
        if incident is not None:
            prompt.ask(incident.opened)
        if was_in_prompt and not isinstance(self.focused, TextArea):
            if prompt.opened is None:
                self.query_one("#tree", LiveTree).focus()
            elif not prompt.has_focus_within:
                prompt.focus_choices()
        self._began = True

    def _outcome(self, incident: Incident) -> str:
        if incident.answer is None:
            return f"This was closed: {incident.closed}."
        return f"{incident.answer.by.name or 'Somebody'} answered this: {incident.answer.option}."

    def _draw_page(self, state: RunState) -> None:
        looks = self.session.looks()
        page = self.query_one("#page", LivePage)
        key = self.query_one("#tree", LiveTree).cursor_key
        node = state.nodes.get(key)
        incident = state.incidents.get(node.incidents[-1]) if node is not None and node.incidents else None
        if incident is None and key in ("", *state.roots):
            incident = state.incidents.get(self.incident_id)
        if incident is not None:
            report = build(state, incident.opened)
            lines = answer_lines(incident, looks) + report_lines(report, looks)
            lines += traceback_lines(report, looks)
            title, name = "Report", f"report:{incident.opened.incident_id}"
        elif node is None or node.id in state.roots:
            lines, title, name = outcome_lines(state, looks), "Run", "run"
        else:
            streamed = self.link.text(self.run_id, node.id)
            lines = detail_lines(state, node.id, looks, streamed=streamed.text if streamed is not None else "")
            title, name = "Node", f"node:{node.id}"
        page.show(lines, name)
        self._title_page(title)

    def _title_page(self, title: str = "") -> None:
        page = self.query_one("#page", LivePage)
        title = title or str(page.border_title or "").partition("  ")[0]
        more = f"  {self.session.glyphs.more} {page.below} more" if page.below else ""
        if page.border_title != title + more:
            page.border_title = Content(title + more)

    # -- what is done ----------------------------------------------------------------------------------------

    def on_live_lines_moved(self, message: LiveLines.Moved) -> None:
        """The decision follows the cursor, unless the cursor followed the decision."""
        if message.key == self._placed:
            self._placed = ""
        else:
            self._wanted = ""
        self.pace.request()

    def on_live_page_seen(self, _message: LivePage.Seen) -> None:
        self._title_page()

    def on_live_lines_chosen(self, _message: LiveLines.Chosen) -> None:
        self.query_one("#page", LivePage).focus()

    def on_key(self, event: events.Key) -> None:
        """Keys that nobody took: the prompt's letters count wherever the focus is, but never inside a text field."""
        if self.query_one("#prompt", Prompt).take(event):
            event.stop()

    def on_prompt_left(self, _message: Prompt.Left) -> None:
        self.query_one("#tree", LiveTree).focus()

    def on_prompt_proposed(self, message: Prompt.Proposed) -> None:
        self.run_worker(self._look_back(message), group="preview", exclusive=True, exit_on_error=False)

    async def _look_back(self, proposed: Prompt.Proposed) -> None:
        params = {"for": proposed.lifetime}
        try:
            found = await self.link.command("preview", incident_id=proposed.incident_id, params=params)
            words = f"It {found['sentence']}."
        except LinkError as exc:
            words = f"What it would have matched is not known: {exc}"
        self.query_one("#prompt", Prompt).matched(proposed.incident_id, proposed.lifetime, words)

    def on_prompt_answered(self, message: Prompt.Answered) -> None:
        self.run_worker(self._answer(message), group="answer", exit_on_error=False)

    async def _answer(self, answered: Prompt.Answered) -> None:
        args: dict[str, Any] = {
            "incident_id": answered.incident_id,
            "option": answered.option,
            "params": answered.params,
            "revision": answered.revision,
        }
        try:
            await self.link.command("answer", **args)
        except LinkError as exc:
            prompt = self.query_one("#prompt", Prompt)
            if prompt.opened is not None and prompt.opened.incident_id == answered.incident_id:
                prompt.refused(str(exc))
            self.say(str(exc), "error")
        self.pace.request()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In the prompt `escape` is the prompt's."""
        if action == "back" and self.is_mounted:
            prompt = self.query_one("#prompt", Prompt)
            return not prompt.has_focus_within or prompt.mode == "sent"
        return super().check_action(action, parameters)

    def action_back(self) -> None:
        self.post_message(OpenHome())

    def action_zoom(self) -> None:
        """Both panes; the tree alone; the page alone."""
        panes = self.query_one("#panes")
        now = next((zoom for zoom in _ZOOMS[1:] if panes.has_class(zoom)), "")
        following = _ZOOMS[(_ZOOMS.index(now) + 1) % len(_ZOOMS)]
        for zoom in _ZOOMS[1:]:
            panes.set_class(zoom == following, zoom)
        if following:
            self.query_one(f"#{following[1:]}").focus()

    def action_find_fault(self) -> None:
        """Put the cursor on the node that the decision is about; on the next one, if it is there already."""
        state = self.link.run(self.run_id)
        waiting = [
            found for found in self.session.decisions() if found.run_id == self.run_id and found.opened.node_id
        ]
        if state is None or not waiting:
            self.say("Nothing waits for a decision in this run.")
            return
        tree = self.query_one("#tree", LiveTree)
        nodes = [found.opened.node_id for found in waiting]
        at = nodes.index(tree.cursor_key) + 1 if tree.cursor_key in nodes else 0
        tree.reveal(nodes[at % len(nodes)])
