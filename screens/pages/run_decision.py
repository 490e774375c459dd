"""The decision on the run page: which one its prompt shows, what became of it, and how an answer is sent."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from textual.app import App
from textual.widget import Widget
from textual.widgets import Input, TextArea

from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.reports.explanation.explain import explain
from runtime.judgement.reports.waiting_nodes import nodes_waiting_on
from runtime.link.client.client import LinkError
from runtime.operations.requests.answers import AnswerIncident, PreviewGrant
from runtime.record.state.durable_run import DurableRun, Incident
from runtime.record.state.events import IncidentOpened
from screens.base.runtime_screen import RuntimeScreen
from screens.dialogs import bulk_hint
from screens.pages.run_progress import RunProgress
from screens.pages.write_comparison import WriteComparison
from screens.shell.answer_hold import HeldAnswer
from screens.views.decisions.incident_groups import OpenDecision
from screens.views.decisions.prompt_lines import PromptContent
from screens.views.decisions.prompt_rows import PromptSpace
from screens.views.run.explanation import model_line
from screens.views.run.node_names import shown_name
from screens.views.run.report import advised_option
from screens.widgets.prompts.prompt import Prompt


class RunDecision:
    """Fills the prompt of `screen`. `wanted` is the incident that was asked for; empty: the cursor chooses."""

    def __init__(self, screen: RuntimeScreen, wanted: str, progress: RunProgress) -> None:
        self._screen = screen
        self._progress = progress
        self._writes = WriteComparison(screen)
        self.wanted = wanted
        self._began = False
        self._by_cursor = False
        """The operator moved the cursor: what it brings does not take the focus."""
        self._replied = ""
        """The incident of which the runtime's reply to our own answer has told."""

    @cached_property
    def prompt(self) -> Prompt:
        return self._screen.query_one("#prompt", Prompt)

    @property
    def incident_id(self) -> str:
        """The incident that the prompt shows; empty if it shows none."""
        opened = self.prompt.opened
        return opened.incident_id if opened is not None else ""

    def follow_cursor(self) -> None:
        """The operator moved the cursor: its node chooses the decision."""
        self.wanted, self._by_cursor = "", True

    def choose(self, state: DurableRun, node_id: str) -> Incident | None:
        """The decision to show: the one that was asked for, else that of the node under the cursor (`node_id`), else
        the oldest.
        """
        waiting = {found.opened.incident_id: found for found in state.open_incidents}
        if not waiting:
            return None
        node = state.nodes.get(node_id)
        here = next((key for key in (node.incidents if node is not None else ()) if key in waiting), "")
        oldest = min(waiting.values(), key=lambda found: (found.opened.ts, found.opened.incident_id))
        for key in (self.wanted, here, self.incident_id):
            if key in waiting:
                return waiting[key]
        return oldest

    def show(self, state: DurableRun, incident: Incident | None, nodes: Widget, space: PromptSpace) -> None:
        """One decision follows another where the focus was: in the prompt, or wherever the operator looks around.

        Args:
            state: the run.
            incident: the decision that is shown; None: it was answered or is over.
            nodes: what has the focus then.
            space: what stands around the prompt.
        """
        prompt, screen = self.prompt, self._screen
        was_in_prompt = prompt.has_focus_within or not self._began
        before = state.incidents.get(prompt.opened.incident_id) if prompt.opened is not None else None
        if before is not None and not before.open:
            if prompt.mode not in ("type", "sent") and before.opened.incident_id != self._replied:
                screen.show_message(_outcome_text(before))
            prompt.put_away(_outcome_text(before))
        another = False
        if incident is not None:
            prompt.state = state
            another = prompt.ask(self._content_of(incident, state), space)
        takes_focus = was_in_prompt or (another and prompt.mode == "type" and not self._by_cursor)
        if takes_focus and (another or not isinstance(screen.focused, TextArea | Input)):
            if prompt.opened is None:
                screen.set_focus(nodes)  # now: what the app does later would take it from the next decision
            elif another or not prompt.has_focus_within:
                prompt.take_focus()
        self._began, self._by_cursor = True, False
        self._show_hold(state)

    def _content_of(self, incident: Incident, state: DurableRun) -> PromptContent:
        """What is known of an incident; its explanation, if the prompt does not show it already."""
        opened, session = incident.opened, self._screen.session
        may_act = session.may_act(state.id)
        return PromptContent(
            opened,
            told=explain(incident, state, session.runtime_home) if opened.incident_id != self.incident_id else None,
            held=[shown_name(state.nodes[each.node_id], state) for each in nodes_waiting_on(state, opened.node_id)],
            place=_place_words(state, incident),
            advised=advised_option(incident),
            proposal=incident.proposal,
            model=model_line(incident, session.render_context()),
            may_act=may_act,
            write=self._writes.shown(opened) if may_act else None,
            write_awaited=may_act and self._writes.is_awaited(opened),
        )

    def _show_hold(self, state: DurableRun) -> None:
        """Of an answer that is held the prompt says until when; one whose decision was closed elsewhere is dropped."""
        hold = self._screen.session.hold
        held = hold.held
        asked = state.incidents.get(held.incident_id) if held is not None else None
        if held is None or asked is None:
            return
        if not asked.open:
            hold.take_back()
            self._screen.show_message(f"{_outcome_text(asked)} Yours was not sent: {held.words}.", "warning")
        elif held.incident_id == self.incident_id:
            self.prompt.show_held(hold.seconds_left)

    def took_back(self, held: HeldAnswer) -> bool:
        """An answer was not sent. True if the prompt shows its decision: then it offers it again, and says so."""
        if held.incident_id != self.incident_id:
            return False
        self.prompt.take_back()
        return True

    async def preview_grant(self, proposed: Prompt.Proposed) -> None:
        """Say in the prompt what a standing grant would have matched so far."""
        params = {"for": proposed.lifetime}
        try:
            found = await self._screen.link.ask(PreviewGrant(incident_id=proposed.incident_id, params=params))
            words = f"It {found.sentence}."
        except LinkError as exc:
            words = f"What it would have matched is not known: {exc}"
        self.prompt.show_preview(proposed.incident_id, proposed.lifetime, words)

    async def answer(self, answered: Prompt.Answered) -> None:
        """Send an answer; one that can be taken back is held first."""
        screen, app = self._screen, self._screen.app
        hold = screen.session.hold
        asked = screen.link.incidents.get(answered.incident_id)
        if asked is None:
            await self._send(answered, None, app)
            return
        label = offered_label(asked.opened, answered.option)

        async def send() -> None:
            await self._send(answered, asked, app)

        def let_go() -> None:
            if screen.is_attached and self.incident_id == answered.incident_id:
                self.prompt.let_go()

        if hold.seconds > 0 and not answered.confirmed:  # the second key was the time to think it over
            words = f"{_step_name(screen, asked.opened)}: {_said_label(asked.opened, answered.option, label)}"
            await hold.take(app, HeldAnswer(answered.incident_id, words, send, let_go))
            if self.incident_id == answered.incident_id:
                self.prompt.show_held(hold.seconds_left)  # before the next frame: it is not sent yet
            screen.pace.request()
        else:
            await hold.send_now()
            await send()

    async def _send(self, answered: Prompt.Answered, asked: OpenDecision | None, app: App[Any]) -> None:
        """Send it now. A refusal is said in the prompt, if it still shows that decision; the rest on the screen that is
        shown then.
        """
        screen = self._screen
        answer = AnswerIncident(
            incident_id=answered.incident_id,
            option=answered.option,
            params=answered.params,
            revision=answered.revision,
            reason=answered.reason,
        )
        try:
            await screen.link.ask(answer)
        except LinkError as exc:
            self._replied = answered.incident_id
            if screen.is_attached and self.incident_id == answered.incident_id:
                self.prompt.show_refusal(str(exc))
            if (shown := self._shown(app)) is not None:
                shown.show_message(str(exc), "error")
        else:
            spec = OPTIONS.get(answered.option)
            label = offered_label(asked.opened, answered.option) if asked is not None else ""
            label = label or (spec.label if spec is not None else answered.option)
            rewinds = spec is not None and any("{rewind}" in each for each in spec.confirm.values())
            again = screen.session.render_context().key("run.rewind", "R") if rewinds else ""
            how = f". {again} starts again from here." if again else ""
            name = f"{_step_name(screen, asked.opened)}: " if asked is not None else ""
            if (shown := self._shown(app)) is not None:
                told = _said_label(asked.opened, answered.option, label) if asked is not None else label
                shown.show_message(f"{name}{told}{how}")
            if asked is not None and app.screen_stack:
                self._progress.answer_taken(asked.opened, answered.option, label)
                bulk_hint.watch_answer(app, screen.session, asked)
        if screen.is_attached:
            screen.pace.request()

    def _shown(self, app: App[Any]) -> RuntimeScreen | None:
        """Where it is said what came of sending: here, or on the screen that is shown by then; nowhere once the console
        is being closed, or while a dialog is open.
        """
        if self._screen.is_attached:
            return self._screen
        top = app.screen_stack[-1] if app.screen_stack else None
        return top if isinstance(top, RuntimeScreen) else None


def offered_label(opened: IncidentOpened, option: str) -> str:
    """What an option is called where it was offered; empty where it was not."""
    return next((each.label for each in opened.options if each.id == option), "")


def _said_label(opened: IncidentOpened, option: str, label: str) -> str:
    """What an answer is called where it is said that it was given: to a question it corrects nothing."""
    return "your answer" if opened.question and option == "input" else label


def _step_name(screen: RuntimeScreen, opened: IncidentOpened) -> str:
    """What is answered, as the prompt's title names it: its step, or who asks; else its run."""
    names = opened.lineage[:-1] if opened.question and len(opened.lineage) > 1 else opened.lineage
    return screen.session.render_context().sanitize_line(names[-1], 60) if names else "the run"


def _place_words(state: DurableRun, incident: Incident) -> str:
    """``decision 1 of 2``: which of the run's open decisions it is, the oldest first; empty for the only one."""
    waiting = sorted((found.opened.ts, found.opened.incident_id) for found in state.open_incidents)
    ids = [each for _, each in waiting]
    here = incident.opened.incident_id
    return f"decision {ids.index(here) + 1} of {len(ids)}" if len(ids) > 1 and here in ids else ""


def _outcome_text(incident: Incident) -> str:
    if incident.answer is None:
        return f"This was closed: {incident.closed}."
    label = offered_label(incident.opened, incident.answer.option)
    return f"{incident.answer.by.name or 'An operator'} answered this: {label or incident.answer.option}."
