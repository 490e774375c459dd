"""The actions on a run, and what each would touch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from runtime.judgement.recovery.input_validation import json_object
from runtime.judgement.recovery.model_name import check_model_name
from runtime.judgement.recovery.option_spec import ParamChoice
from runtime.judgement.reports.explanation.model_choices import models_of_run
from runtime.operations.requests.runs import (
    AbortRun,
    BreakpointKind,
    CancelCall,
    ForkRun,
    FreezeRuns,
    InjectMessage,
    RewindRun,
    SetBreakpoint,
    ThawRuns,
)
from runtime.operations.requests.struct import Request
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.rewind import nodes_dropped_by, repeated_effects
from screens.render.formatting import format_cost, pluralize
from screens.render.layout import Span, Spans, span
from screens.views.decisions.batch_action import CONSEQUENCES
from screens.views.decisions.model_list import model_rows
from screens.views.run.json_lines import editable_json
from screens.views.run.node_state import KIND_WORDS
from screens.views.run.status import in_flight_words
from screens.views.shared.render_context import RenderContext

_MAX_NAMED: Final = 8
"""Nodes that are named; of the rest only the number is told."""


class ActionField(Struct, frozen=True):
    """What can be typed for an act: the parameter's name, what it is, and what stands there at first."""

    name: str
    label: str
    text: str = ""
    needed: bool = False
    single: bool = True
    models: tuple[ParamChoice, ...] = ()
    """Of a model: what is asked if nothing is changed, then what the run knows."""
    check: Callable[[str], None] | None = None
    """Raises `ValueError` for what would be refused."""


class RunAction(Struct, frozen=True):
    """One thing to do: the request, and all that has to be read before."""

    request: Request[Any]
    title: str
    lines: tuple[Spans, ...]
    yes: str
    done: str
    input_field: ActionField | None = None
    confirms: bool = True
    """Whether it takes a `y` after all has been read and typed."""

    def filled(self, text: str) -> Request[Any]:
        """The request with what was typed.

        Raises:
            ValueError: something is needed, or cannot be read; the message says what.
        """
        if self.input_field is None:
            return self.request
        name, said = self.input_field.name, text.strip()
        if self.input_field.models and said == self.input_field.models[0].value:
            return self.request
        if not said:
            if self.input_field.needed:
                raise ValueError(f"something is needed here: {self.input_field.label}")
            return self.request
        if name in ("reason", "text"):
            return replace(self.request, **{name: text})
        if self.input_field.check is not None:
            self.input_field.check(said)
        value: Any = said if name != "arguments" else json_object(said)
        if name == "arguments" and text == self.input_field.text:
            return self.request
        return replace(self.request, changes={name: value})


ActionMaker = Callable[[DurableRun, str, RenderContext], "RunAction | str"]
"""Makes an act on the node under the cursor, or says why there is none."""


def freeze(state: DurableRun, _node_id: str, context: RenderContext) -> RunAction | str:
    """Freeze the run; thaw it, if it is frozen."""
    if state.terminal:
        return _why_ended(state)
    if state.phase == "frozen":
        open_nodes = sum(not node.terminal for node in state.nodes.values())
        thawed = (span(f"{CONSEQUENCES['thaw'].rstrip('.')}: {pluralize(open_nodes, 'open node')}."),)
        return RunAction(ThawRuns(run_id=state.id), "Thaw this run", thawed, "thaw it", "The run goes on.")
    said = span(CONSEQUENCES["freeze"])
    lines = (said, *_in_flight(state, context, "to its end as usual"))
    return RunAction(FreezeRuns(run_id=state.id), "Freeze this run", lines, "freeze it", "The run is being frozen.")


def abort(state: DurableRun, _node_id: str, context: RenderContext) -> RunAction | str:
    """End the run now, for good."""
    if state.terminal:
        return _why_ended(state)
    open_nodes = [node for node in state.nodes.values() if not node.terminal]
    decisions = len(state.open_incidents)
    lines = (
        span(CONSEQUENCES["abort"], "severity-warning"),
        *_in_flight(state, context, "to be cancelled; whether it took effect may stay unknown"),
        span(f"It closes {pluralize(len(open_nodes), 'open node')} and {pluralize(decisions, 'open decision')}."),
    )
    asks = ActionField("reason", "why (it is kept; may be empty)")
    request = AbortRun(run_id=state.id)
    return RunAction(request, "Abort this run", lines, "abort it", "The run is being aborted.", asks)


def cancel(state: DurableRun, node_id: str, context: RenderContext) -> RunAction | str:
    """Cancel the tool's call under the cursor, or the only one inside what is there."""
    if state.terminal:
        return _why_ended(state)
    calls = state.calls_under_way(node_id)
    if len(calls) != 1:
        return f"Put the cursor on one call of a tool that is under way; here there are {len(calls) or 'none'}."
    call = calls[0]
    unsure = "; whether it took effect may stay unknown" if not call.idempotent else ""
    lines = (
        (*_name(call, context), Span(f" is cancelled{unsure}.")),
        span("Nothing else stops. Then it waits for a decision: do it again, give its result, or go on without it."),
    )
    asks = ActionField("reason", "why (it is kept; may be empty)")
    request = CancelCall(run_id=state.id, node_id=call.id)
    return RunAction(request, "Cancel this call", lines, "cancel it", "The call is being cancelled.", asks)


def rewind(state: DurableRun, node_id: str, context: RenderContext) -> RunAction | str:
    """Turn the run back to the node under the cursor, which then runs again."""
    node = state.nodes.get(node_id)
    if node is None:
        return "Put the cursor on the node from which the run is to go on."
    dropped = nodes_dropped_by(state, node_id)
    repeated = repeated_effects(state, dropped)
    lost = sum(found.cost_usd or 0.0 for found in map(state.nodes.__getitem__, dropped) if found.cost_usd)
    lines = [
        (Span("The run goes on from "), *_name(node, context), Span(f"; dropped: {pluralize(len(dropped), 'node')}.")),
        *_listed([state.nodes[key] for key in state.nodes if key in dropped and state.nodes[key].is_step], context),
    ]
    if lost:
        lines.append(span(f"What they cost the first time: {format_cost(lost)}."))
    if closing := sum(found.opened.node_id in dropped for found in state.open_incidents):
        lines.append(span(f"Open decisions that close: {closing}."))
    if repeated:
        lines.append(span("Took effect, or may have, and would do so AGAIN:", "severity-warning", bold=True))
        lines += _listed(repeated, context)
    else:
        lines.append(span("No side effect would be repeated."))
    request = RewindRun(run_id=state.id, node_id=node_id, confirm=bool(repeated))
    said = "The run is being started again from there."
    return RunAction(
        request, "Run again from here", tuple(lines), "start again from here", said, _change(node, state, context)
    )


def fork(state: DurableRun, node_id: str, context: RenderContext) -> RunAction | str:
    """Begin another run with what this one has completed, up to the node under the cursor."""
    node = state.nodes.get(node_id)
    if node is None:
        return "Put the cursor on the node from which the other run is to begin."
    dropped = nodes_dropped_by(state, node_id)
    kept = sum(found.is_step and found.recorded for key, found in state.nodes.items() if key not in dropped)
    lines = (
        (
            Span("Another run begins from "),
            *_name(node, context),
            Span(". This one stays as it is."),
        ),
        span(f"It takes over {pluralize(kept, 'completed step')}, and asks models and tools again from there on."),
    )
    request = ForkRun(run_id=state.id, node_id=node_id)
    return RunAction(
        request, "Another run from here", lines, "fork it", "The fork has begun.", _change(node, state, context)
    )


def inject(state: DurableRun, node_id: str, context: RenderContext) -> RunAction | str:
    """Give the agent under the cursor a message that it reads at its next turn."""
    if state.terminal:
        return _why_ended(state)
    agent = next((node for node in reversed(state.lineage(node_id)) if node.kind == "agent"), None)
    if agent is None:
        return "Put the cursor on an agent, or on something that it does."
    if agent.terminal:
        return f"{context.sanitize_line(agent.name, 60)} has ended: a message is for an agent that still runs."
    waiting = sum(each.node_id in ("", agent.id) and each.agent == agent.name for each in state.injected.values())
    lines = [(*_name(agent, context), Span(" reads this at its next turn, as said by the user."))]
    if waiting:
        lines.append(span(f"Before it, not read yet: {pluralize(waiting, 'message')}.", "ink-muted"))
    request = InjectMessage(run_id=state.id, agent=agent.id, text="")
    asks = ActionField("text", "the message", needed=True)
    done = "The agent reads it at its next turn."
    return RunAction(request, "Message to an agent", tuple(lines), "send it", done, asks, confirms=False)


def set_breakpoint(state: DurableRun, node_id: str, context: RenderContext) -> RunAction | str:
    """Make the run wait before the tool or agent under the cursor whenever it comes; or no longer."""
    if state.terminal:
        return _why_ended(state)
    node = next((node for node in reversed(state.lineage(node_id)) if node.kind in ("tool", "agent")), None)
    if node is None:
        return "Put the cursor on a tool's call or on an agent."
    kind: BreakpointKind = "tool" if node.kind == "tool" else "agent"
    name = context.sanitize_line(node.name, 60)
    request = SetBreakpoint(run_id=state.id, what=kind, pattern=node.name)
    if (node.kind, node.name) in state.breakpoints:
        lines = (span(f"The run no longer stops before {kind} {name}."),)
        done = f"No stop before {name} any more."
        return RunAction(replace(request, clear=True), "Take the breakpoint away", lines, "take it away", done)
    lines = (span(f"The run waits for a decision before every {kind} called {name}, from its next one on."),)
    return RunAction(request, "Breakpoint", lines, "set it", f"The run stops before {name}.")


RUN_ACTIONS: Final[Mapping[str, ActionMaker]] = {
    "freeze": freeze,
    "abort": abort,
    "cancel": cancel,
    "rewind": rewind,
    "fork": fork,
    "inject": inject,
    "break": set_breakpoint,
}
WHILE_IT_LASTS: Final = frozenset({"freeze", "abort", "cancel", "inject", "break"})
"""What cannot be done to a run that has ended."""


def _why_ended(state: DurableRun) -> str:
    return f"The run has ended: it is {state.phase}."


_SAME: Final = ParamChoice("the same models as before", "the same models as before")


def _change(node: Node, state: DurableRun, context: RenderContext) -> ActionField | None:
    """What can be different when a node runs again."""
    if node.kind == "tool" and node.is_step:
        arguments = node.effective.get("arguments", node.requested.get("arguments"))
        return ActionField("arguments", "its arguments (JSON)", editable_json(arguments or {}), single=False)
    if node.kind == "llm" or not node.is_step:
        now = str(node.effective.get("model") or node.name) if node.kind == "llm" else ""
        same = ParamChoice(now, f"{context.sanitize_line(now, 60)}{context.glyphs.dot}the same") if now else _SAME
        rows = (same, *model_rows(models_of_run(state, now), (), context))
        check = partial(check_model_name, state=state)
        return ActionField("model", "Which model is asked from here on", models=rows, check=check)
    return None


def _name(node: Node, context: RenderContext) -> Spans:
    kind = KIND_WORDS.get(node.kind, node.kind)
    return (Span(f"{kind} "), Span(context.sanitize_line(node.name, 60) or "?", "ink-strong", bold=True))


def _in_flight(state: DurableRun, context: RenderContext, what: str) -> list[Spans]:
    flying = state.in_flight
    if not flying:
        return [span("No call is out.")]
    named = [span(f"  {in_flight_words(node, context)}") for node in flying[:_MAX_NAMED]]
    return [span(f"Calls that are out, each {what}:"), *named, *_more(len(flying))]


def _listed(nodes: list[Node], context: RenderContext) -> list[Spans]:
    named = [
        (Span("  "), context.state_glyph(node.phase), Span(" "), *_name(node, context)) for node in nodes[:_MAX_NAMED]
    ]
    return [*named, *_more(len(nodes))]


def _more(number: int) -> list[Spans]:
    return [span(f"  and {number - _MAX_NAMED} more", "ink-muted")] if number > _MAX_NAMED else []
