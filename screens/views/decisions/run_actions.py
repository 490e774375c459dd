"""The actions on a run, and what each would touch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from runtime.judgement.recovery.input_validation import json_object
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.rewind import nodes_dropped_by, repeated_effects
from screens.render.formatting import format_cost, pluralize
from screens.render.layout import Span, Spans, span
from screens.views.decisions.batch_action import CONSEQUENCES
from screens.views.run.json_lines import json_text
from screens.views.run.node import KIND_WORDS
from screens.views.run.status import in_flight_words
from screens.views.shared.render_context import RenderContext

_MAX_NAMED: Final = 8
"""Nodes that are named; of the rest only the number is told."""


@dataclass(frozen=True, slots=True)
class ActionField:
    """What can be typed for an act: the parameter's name, what it is, and what stands there at first."""

    name: str
    label: str
    text: str = ""
    needed: bool = False
    single: bool = True


@dataclass(frozen=True, slots=True)
class RunAction:
    """One thing to do: the verb of the link with its arguments, and all that has to be read before."""

    verb: str
    title: str
    lines: tuple[Spans, ...]
    yes: str
    done: str
    args: Mapping[str, Any] = field(default_factory=dict)
    asks: ActionField | None = None
    confirms: bool = True
    """Whether it takes a `y` after all has been read and typed."""

    def filled(self, text: str) -> dict[str, Any]:
        """The arguments of the verb with what was typed.

        Raises:
            ValueError: something is needed, or cannot be read; the message says what.
        """
        args = dict(self.args)
        if self.asks is None:
            return args
        name, said = self.asks.name, text.strip()
        if not said:
            if self.asks.needed:
                raise ValueError(f"something is needed here: {self.asks.label}")
            return args
        if name in ("reason", "text"):
            return args | {name: text}
        value: Any = said if name != "arguments" else json_object(said)
        if name == "arguments" and text == self.asks.text:
            return args
        return args | {"changes": {name: value}}


ActionMaker = Callable[[DurableRun, str, RenderContext], "RunAction | str"]
"""Makes an act on the node under the cursor, or says why there is none."""


def freeze(state: DurableRun, _node_id: str, looks: RenderContext) -> RunAction | str:
    """Freeze the run; thaw it, if it is frozen."""
    if state.terminal:
        return _why_ended(state)
    if state.phase == "frozen":
        open_nodes = sum(not node.terminal for node in state.nodes.values())
        thawed = (span(f"{CONSEQUENCES['thaw'].rstrip('.')}: {pluralize(open_nodes, 'open node')}."),)
        return RunAction("thaw", "Thaw this run", thawed, "thaw it", "The run goes on.", {"run_id": state.id})
    said = span(CONSEQUENCES["freeze"])
    lines = (said, *_in_flight(state, looks, "to its end as usual"))
    return RunAction("freeze", "Freeze this run", lines, "freeze it", "The run is being frozen.", {"run_id": state.id})


def abort(state: DurableRun, _node_id: str, looks: RenderContext) -> RunAction | str:
    """End the run now, for good."""
    if state.terminal:
        return _why_ended(state)
    open_nodes = [node for node in state.nodes.values() if not node.terminal]
    decisions = len(state.open_incidents)
    lines = (
        span("The run ends now, for good. What is done stays in its journal.", "severity-warning"),
        *_in_flight(state, looks, "to be cancelled; whether it took effect may stay unknown"),
        span(f"It closes {pluralize(len(open_nodes), 'open node')} and {pluralize(decisions, 'open decision')}."),
    )
    asks = ActionField("reason", "why (it is kept; may be empty)")
    return RunAction(
        "abort", "Abort this run", lines, "abort it", "The run is being aborted.", {"run_id": state.id}, asks
    )


def rewind(state: DurableRun, node_id: str, looks: RenderContext) -> RunAction | str:
    """Turn the run back to the node under the cursor, which then runs again."""
    node = state.nodes.get(node_id)
    if node is None:
        return "Put the cursor on the node from which the run is to go on."
    dropped = nodes_dropped_by(state, node_id)
    repeated = repeated_effects(state, dropped)
    lost = sum(found.cost_usd or 0.0 for found in map(state.nodes.__getitem__, dropped) if found.cost_usd)
    lines = [
        (Span("The run goes on from "), *_name(node, looks), Span(f"; dropped: {pluralize(len(dropped), 'node')}.")),
        *_listed([state.nodes[key] for key in state.nodes if key in dropped and state.nodes[key].is_step], looks),
    ]
    if lost:
        lines.append(span(f"What they cost the first time: {format_cost(lost)}."))
    if closing := sum(found.opened.node_id in dropped for found in state.open_incidents):
        lines.append(span(f"Open decisions that close: {closing}."))
    if repeated:
        lines.append(span("Took effect, or may have, and would AGAIN:", "severity-warning", bold=True))
        lines += _listed(repeated, looks)
    else:
        lines.append(span("No side effect would be repeated."))
    args = {"run_id": state.id, "node_id": node_id, "confirm": bool(repeated)}
    said = "The run is being turned back."
    return RunAction("rewind", "Run again from here", tuple(lines), "turn it back", said, args, _change(node))


def fork(state: DurableRun, node_id: str, looks: RenderContext) -> RunAction | str:
    """Begin another run with what this one has completed, up to the node under the cursor."""
    node = state.nodes.get(node_id)
    if node is None:
        return "Put the cursor on the node from which the fork is to go its own way."
    dropped = nodes_dropped_by(state, node_id)
    kept = sum(found.is_step and found.recorded for key, found in state.nodes.items() if key not in dropped)
    lines = (
        (Span("A new run begins that goes its own way from "), *_name(node, looks), Span(". This one stays as it is.")),
        span(f"It takes over {pluralize(kept, 'completed step')}, and asks models and tools anew from there on."),
    )
    args = {"run_id": state.id, "node_id": node_id}
    return RunAction("fork", "Fork from here", lines, "fork it", "The fork has begun.", args, _change(node))


def inject(state: DurableRun, node_id: str, looks: RenderContext) -> RunAction | str:
    """Give the agent under the cursor a message that it reads at its next turn."""
    if state.terminal:
        return _why_ended(state)
    agent = next((node for node in reversed(state.lineage(node_id)) if node.kind == "agent"), None)
    if agent is None:
        return "Put the cursor on an agent, or on something that it does."
    if agent.terminal:
        return f"{looks.line(agent.name, 60)} has ended: a message is for an agent that still runs."
    waiting = sum(each.node_id in ("", agent.id) and each.agent == agent.name for each in state.injected.values())
    lines = [(*_name(agent, looks), Span(" reads this at its next turn, as said by the user."))]
    if waiting:
        lines.append(span(f"Before it, not read yet: {pluralize(waiting, 'message')}.", "ink-muted"))
    args = {"run_id": state.id, "agent": agent.id}
    asks = ActionField("text", "the message", needed=True)
    done = "The agent reads it at its next turn."
    return RunAction("inject", "Message to an agent", tuple(lines), "send it", done, args, asks, confirms=False)


def set_breakpoint(state: DurableRun, node_id: str, looks: RenderContext) -> RunAction | str:
    """Make the run wait before the tool or agent under the cursor whenever it comes; or no longer."""
    if state.terminal:
        return _why_ended(state)
    node = next((node for node in reversed(state.lineage(node_id)) if node.kind in ("tool", "agent")), None)
    if node is None:
        return "Put the cursor on a tool's call or on an agent."
    kind, name = node.kind, looks.line(node.name, 60)
    args = {"run_id": state.id, "what": kind, "pattern": node.name}
    if (node.kind, node.name) in state.breakpoints:
        lines = (span(f"The run no longer stops before {kind} {name}."),)
        return RunAction("break", "Take the breakpoint away", lines, "take it away", f"No stop before {name} any more.",
                   {**args, "clear": True})  # fmt: skip
    lines = (span(f"The run waits for a decision before every {kind} called {name}, from its next one on."),)
    return RunAction("break", "Breakpoint", lines, "set it", f"The run stops before {name}.", args)


RUN_ACTIONS: Final[Mapping[str, ActionMaker]] = {
    "freeze": freeze,
    "abort": abort,
    "rewind": rewind,
    "fork": fork,
    "inject": inject,
    "break": set_breakpoint,
}
WHILE_IT_LASTS: Final = frozenset({"freeze", "abort", "inject", "break"})
"""What cannot be done to a run that has ended."""


def _why_ended(state: DurableRun) -> str:
    return f"The run has ended: it is {state.phase}."


def _change(node: Node) -> ActionField | None:
    """What can be different when a node runs again."""
    if node.kind == "tool" and node.is_step:
        arguments = node.effective.get("arguments", node.requested.get("arguments"))
        return ActionField("arguments", "its arguments (JSON)", json_text(arguments or {}), single=False)
    if node.kind == "llm" or not node.is_step:
        return ActionField("model", "another model, as provider:name (empty: the same)")
    return None


def _name(node: Node, looks: RenderContext) -> Spans:
    kind = KIND_WORDS.get(node.kind, node.kind)
    return (Span(f"{kind} "), Span(looks.line(node.name, 60) or "?", "ink-strong", bold=True))


def _in_flight(state: DurableRun, looks: RenderContext, what: str) -> list[Spans]:
    flying = state.in_flight
    if not flying:
        return [span("Nothing is in flight.")]
    named = [span(f"  {in_flight_words(node, looks)}") for node in flying[:_MAX_NAMED]]
    return [span(f"In flight, each {what}:"), *named, *_more(len(flying))]


def _listed(nodes: list[Node], looks: RenderContext) -> list[Spans]:
    named = [(Span("  "), looks.sign(node.phase), Span(" "), *_name(node, looks)) for node in nodes[:_MAX_NAMED]]
    return [*named, *_more(len(nodes))]


def _more(number: int) -> list[Spans]:
    return [span(f"  and {number - _MAX_NAMED} more", "ink-muted")] if number > _MAX_NAMED else []
