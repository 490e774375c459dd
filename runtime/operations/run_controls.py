"""Run controls: freeze, thaw, break, inject, rewind, fork.

Each validates, appends one of the operators' events (`OPERATOR_EVENTS`), and leaves the rest to the process that drives
the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Literal

from runtime.execution.resolution import first_model_step_id
from runtime.execution.view_redaction import MaskNotReplaced, ViewRedactor
from runtime.operations.decisions import InvalidCommand
from runtime.operations.run_creation import create_run
from runtime.record.ids import new_id
from runtime.record.journal import Journal, StaleSequence
from runtime.record.state import events as ev
from runtime.record.state.durable_run import (
    RUN_TERMINAL,
    DurableRun,
    Node,
    Summary,
    fold_events,
)
from runtime.record.state.rewind import nodes_dropped_by, repeated_effects

BreakpointKind = Literal["tool", "agent"]
_KIND_WORDS: tuple[type[ev.JournalEvent], ...] = (ev.IncidentAnswered, *ev.WAKING_EVENTS, ev.RunRewound)
"""What people say to a run that its driver must hear; and a rewind that was done, which drops nodes."""
_ABORT_OR_REWIND = ('"type":"run.abort_requested"', '"type":"run.rewind_requested"')


class InvalidControl(InvalidCommand):
    """What was asked for cannot be done as it was said; nothing was written."""


class RewindNeedsConfirmation(InvalidControl):
    """A rewind would do things to the world a second time; it must be said again with `confirm`."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        listed = ", ".join(f"{node.name} ({node.id})" for node in nodes)
        super().__init__(
            f"this would do again what must not be repeated unasked: {listed}; say it with --yes to confirm"
        )
        self.nodes = tuple(nodes)


def _aborted_at(state: DurableRun) -> set[str]:
    """Ids of the steps whose incident was answered with the end of the whole run: coming there again ends it again."""
    nodes = ((incident, state.nodes.get(incident.opened.node_id)) for incident in state.incidents.values())
    return {
        node.id
        for incident, node in nodes
        if node is not None
        and node.is_step
        and incident.answer is not None
        and (incident.answer.option, incident.answer.reach) == ("abort", "run")
    }


def _abort_under_way(state: DurableRun) -> ev.AbortRequested | ev.IncidentAnswered | None:
    """The word that ends the run, where it has not ended yet."""
    if state.terminal:
        return None
    turned = max((each.seq for each in state.rewound), default=0)
    answers = (incident.answer for incident in state.incidents.values())
    ends = (each for each in answers if each is not None and (each.option, each.reach) == ("abort", "run"))
    return state.abort or next((each for each in ends if each.seq > turned), None)


class RunControls:
    """Controls over the runs of one workspace."""

    def __init__(self, journal: Journal, views: ViewRedactor | None = None) -> None:
        """`views`: what operators are shown in place of secrets, where they change what they were shown."""
        self._journal = journal
        self._views = views or ViewRedactor()

    async def freeze(self, run_id: str = "", *, ref: str = "", reason: str = "", by: ev.Actor) -> list[str]:
        """Freeze a run, all runs of a swarm, or (neither given) every run; returns the ids of those that were frozen
        now. A freeze of a swarm or of everything stands: runs that begin later are frozen, too, until it is lifted.

        Raises:
            InvalidControl: the run does not exist or has ended.
        """
        if not run_id:
            await self._journal.post(ev.WORKSPACE_RUN_ID, ev.FreezeSet(ref=ref, reason=reason, by=by))
        chosen = await self._selected_runs(run_id, ref, ("queued", "running", "waiting"))
        return await self._post_each(chosen, ev.RunFrozen(reason=reason, by=by), alone=bool(run_id))

    async def thaw(self, run_id: str = "", *, ref: str = "", by: ev.Actor) -> list[str]:
        """Let frozen runs go on; see `freeze`."""
        if not run_id:
            await self._journal.post(ev.WORKSPACE_RUN_ID, ev.FreezeLifted(ref=ref, by=by))
        chosen = await self._selected_runs(run_id, ref, ("frozen",))
        return await self._post_each(chosen, ev.RunThawed(by=by), alone=bool(run_id))

    async def _post_each(self, chosen: Sequence[Summary], event: ev.JournalEvent, *, alone: bool) -> list[str]:
        """Post an event to runs; the ids of those on which it has an effect. A run may have ended since it was listed.

        Raises:
            InvalidControl: it has no effect on the run that stands `alone`.
        """
        done: list[str] = []
        for summary in chosen:
            try:
                await self._post(summary.id, event)
            except InvalidControl:
                if alone:
                    raise
            else:
                done.append(summary.id)
        return done

    async def _freeze(self, run_id: str, event: ev.RunFrozen) -> None:
        """Freeze a run, unless its abort was requested: an abort takes effect, also where no runtime works yet.

        Raises:
            InvalidControl: it is being aborted, or the freeze has no effect.
        """
        for again in (True, True, False):
            newest = await self._journal.latest(run_id, limit=1)
            asked = await self._journal.latest(run_id, limit=1, marks=_ABORT_OR_REWIND)
            if asked and isinstance(abort := asked[-1].event, ev.AbortRequested):
                by = abort.by.name or abort.by.channel
                raise InvalidControl(
                    f"run {run_id} is being aborted ({by}, {abort.ts:%H:%M:%S} UTC): it cannot be frozen"
                )
            try:
                await self._journal.post(run_id, event, told=newest[-1].event.seq if newest else 0, effective=True)
            except StaleSequence as exc:  # possibly by an abort
                if not again:
                    raise InvalidControl(str(exc)) from exc
            else:
                return

    async def _post(self, run_id: str, event: ev.JournalEvent) -> None:
        if isinstance(event, ev.RunFrozen):
            await self._freeze(run_id, event)
            return
        try:
            await self._journal.post(run_id, event, effective=True)
        except StaleSequence as exc:
            raise InvalidControl(str(exc)) from exc

    async def set_breakpoint(
        self, run_id: str, what: BreakpointKind, pattern: str, *, clear: bool = False, by: ev.Actor
    ) -> str:
        """Make a run wait before tools or agents whose name matches `pattern`, or no longer. Returns a warning where no
        such name is known of the run, which may be right: what has not begun is not known.

        Raises:
            InvalidControl: no such run, or it has ended; no such breakpoint to clear.
        """
        state = await self._unfinished_state(run_id)
        if clear and (what, pattern) not in state.breakpoints:
            listed = ", ".join(f"{kind}:{name}" for kind, name in sorted(state.breakpoints)) or "none"
            raise InvalidControl(f"run {run_id} has no breakpoint {what}:{pattern}; it has {listed}")
        kind = ev.BreakpointCleared if clear else ev.BreakpointSet
        await self._post(run_id, kind(what=what, pattern=pattern, by=by))
        return "" if clear else _unmatched_breakpoint_text(state, what, pattern)

    async def inject(self, run_id: str, agent: str, text: str, *, by: ev.Actor) -> str:
        """Give an agent (a name, or a node's id) a message that it reads at its next turn; returns the injection's id.

        Raises:
            InvalidControl: no such run, it has ended, or it has no such agent so far.
        """
        state = await self._unfinished_state(run_id)
        agents = {node.name for node in state.nodes.values() if node.kind == "agent"}
        node = state.nodes.get(agent)
        if node is None and agent not in agents:
            raise InvalidControl(
                f"run {run_id} has no agent {agent!r} so far; it has {', '.join(sorted(agents)) or 'none'}"
            )
        if node is not None and (node.kind != "agent" or node.terminal):
            raise InvalidControl(f"{agent} is a {node.phase} {node.kind}: a message is for an agent that still runs")
        injection_id = f"m-{new_id()}"
        name, node_id = (node.name, node.id) if node is not None else (agent, "")
        await self._post(
            run_id, ev.MessageInjected(node_id=node_id, injection_id=injection_id, agent=name, text=text, by=by)
        )
        return injection_id

    async def rewind(
        self,
        run_id: str,
        node_id: str,
        *,
        changes: dict[str, Any] | None = None,
        confirm: bool = False,
        reason: str = "",
        by: ev.Actor,
    ) -> set[str]:
        """Turn a run back to a node, which then runs again with `changes` (see `changes_for`); returns what is dropped.

        Raises:
            Effects: effects would repeat, and `confirm` was not given.
            InvalidControl: no such run or node, changes that the node cannot take, or the run was aborted at a step
                that stays.
        """
        recorded = await self._events_of(run_id)
        state = fold_events(recorded)
        told = max((event.seq for event in recorded if isinstance(event, _KIND_WORDS)), default=0)
        if (ending := _abort_under_way(state)) is not None:
            raise InvalidControl(
                f"run {run_id} is being aborted ({ending.by.name or ending.by.channel}, {ending.ts:%H:%M:%S} UTC): "
                "once it has ended it can be turned back"
            )
        dropped = self._dropped_nodes(state, node_id)
        if stays := _aborted_at(state) - dropped:
            raise InvalidControl(
                f"run {run_id} was aborted at {min(stays)!r}, which runs beside {node_id!r} and would stay, and end it"
                " again: turn back to that node, or to one that holds both"
            )
        wanted, changes = changes, self._changes(state.nodes[node_id], state, changes or {})
        repeated = repeated_effects(state, dropped)
        if repeated and not confirm:
            raise RewindNeedsConfirmation(repeated)
        asked = ev.RewindRequested(node_id=node_id, changes=changes, reason=reason, by=by)
        try:
            # Only if nobody said anything else meanwhile: an abort that came first would end the run, and this be lost.
            await self._journal.post(run_id, asked, told=told)
        except StaleSequence:
            return await self.rewind(run_id, node_id, changes=wanted, confirm=confirm, reason=reason, by=by)
        return dropped

    def _changes(self, node: Node, state: DurableRun, wanted: Mapping[str, Any]) -> dict[str, Any]:
        try:
            restored = self._views.restore(wanted, {"arguments": node.requested.get("arguments")})
        except MaskNotReplaced as exc:
            raise InvalidControl(str(exc)) from exc
        return changes_for(node, state, restored)

    async def fork(self, run_id: str, node_id: str = "", *, changes: dict[str, Any] | None = None, by: ev.Actor) -> str:
        """A new run that begins with what this one has completed, up to a node; returns its id.

        Raises:
            InvalidControl: no such run or node, or changes that the node cannot take.
        """
        source = await self._state(run_id)
        changed: dict[str, Any] = {}
        if node_id:
            self._dropped_nodes(source, node_id)
            changed = self._changes(source.nodes[node_id], source, changes or {})
        elif changes:
            raise InvalidControl("changes are for a node: name the one from which the fork goes its own way")
        fork = {"of": run_id, "at": node_id, "changes": changed, "seq": source.last_seq}
        return await create_run(
            self._journal,
            source.ref,
            source.input,
            title=f"fork of {source.title}",
            options=source.options | {"fork": fork},
            by=by,
        )

    async def node_named(self, run_id: str, name: str) -> str:
        """The id of the node that is called so, or whose id is the only one to end so.

        Raises:
            InvalidControl: no such run; no such node, or several.
        """
        nodes = (await self._state(run_id)).nodes
        if name in nodes:
            return name
        found = [node_id for node_id, node in nodes.items() if name and (node.name == name or node_id.endswith(name))]
        if len(found) == 1:
            return found[0]
        if not found:
            raise InvalidControl(
                f"run {run_id} has no node {name!r}: 'orbiter-console show {run_id} --json' lists them"
            )
        listed = ", ".join(found[:6]) + (", …" if len(found) > 6 else "")
        raise InvalidControl(f"{len(found)} nodes of run {run_id} could be meant by {name!r}: {listed}")

    @staticmethod
    def _dropped_nodes(state: DurableRun, node_id: str) -> set[str]:
        if node_id not in state.nodes:
            raise InvalidControl(
                f"run {state.id} has no node {node_id!r}: 'orbiter-console show {state.id}' lists them"
            )
        return nodes_dropped_by(state, node_id)

    async def _selected_runs(self, run_id: str, ref: str, states: Sequence[str]) -> list[Summary]:
        if run_id:
            summary = await self._journal.summary(run_id)
            if summary is None:
                raise InvalidControl(f"there is no run {run_id!r}: 'orbiter-console runs' lists them")
            if summary.state not in states:
                raise InvalidControl(
                    f"run {run_id} is {summary.state}; this is for runs that are {' or '.join(states)}"
                )
            return [summary]
        found = await self._journal.runs(1_000_000, states=states)
        return [summary for summary in found if not ref or summary.ref == ref]

    async def _state(self, run_id: str) -> DurableRun:
        return fold_events(await self._events_of(run_id))

    async def _events_of(self, run_id: str) -> list[ev.JournalEvent]:
        recorded = await self._journal.read(run_id)
        if not recorded:
            raise InvalidControl(f"there is no run {run_id!r}: 'orbiter-console runs' lists them")
        return recorded

    async def _unfinished_state(self, run_id: str) -> DurableRun:
        state = await self._state(run_id)
        if state.phase in RUN_TERMINAL:
            raise InvalidControl(f"run {run_id} has ended: it is {state.phase}")
        return state


def _unmatched_breakpoint_text(state: DurableRun, what: BreakpointKind, pattern: str) -> str:
    """What to say of a breakpoint that matches nothing that is known of the run; empty where it does, or where nothing
    has begun.
    """
    names = {
        "agent": {node.name for node in state.nodes.values() if node.kind == "agent"}
        | {str(name) for node in state.nodes.values() for name in node.info.get("members", ())},
        "tool": {node.name for node in state.nodes.values() if node.kind == "tool"}
        | {str(name) for node in state.nodes.values() if node.kind == "agent" for name in node.info.get("tools", ())},
    }
    if not state.nodes or any(fnmatchcase(name, pattern) for name in names[what]):
        return ""
    other: BreakpointKind = "agent" if what == "tool" else "tool"
    if any(fnmatchcase(name, pattern) for name in names[other]):
        hint = f"{pattern} is the name of an {other}" if other == "agent" else f"{pattern} is the name of a {other}"
        hint = f"{hint}: {other}:{pattern} would stop there"
    elif near := get_close_matches(pattern, sorted(names[what]), n=3):
        hint = f"did you mean {' or '.join(near)}?"
    else:
        listed = sorted(names[what])
        hint = f"it has {', '.join(listed[:12])}{', …' if len(listed) > 12 else ''}" if listed else f"it has no {what}"
    return f"no {what} of run {state.id} is known so far that matches {pattern!r}: {hint}"


def changes_for(node: Node, state: DurableRun, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What is wanted of a node when it runs again, as its steps take it.

    `model`: for a model's call, or for all of them below a scope. `arguments`: for a tool's call. `input`: what the
    user says, for an agent or its first question to the model.

    Raises:
        InvalidControl: the node takes no such change.
    """
    changes: dict[str, Any] = {}
    for key, value in wanted.items():
        if key == "model" and isinstance(value, str) and value and (node.kind == "llm" or not node.is_step):
            changes["model"] = value
        elif key == "arguments" and isinstance(value, Mapping) and node.kind == "tool" and node.is_step:
            changes["arguments"] = dict(value)
        elif key == "input" and isinstance(value, str):
            changes["messages"] = _with_user_message(node, state, value)
        else:
            raise InvalidControl(
                f"{node.id} is a {node.kind} and takes no {key!r} of {value!r}: a model (provider:name) is for an "
                "agent or its call, an input for an agent or its first call, arguments (an object) for a tool's call"
            )
    return changes


def _with_user_message(node: Node, state: DurableRun, text: str) -> list[Any]:
    """The messages of an agent's first question to its model, with something else as the user's last words."""
    asked = node if node.kind == "llm" else state.nodes.get(first_model_step_id(node.id))
    messages = list(asked.requested.get("messages", ())) if asked is not None else []
    last = next((index for index in reversed(range(len(messages))) if messages[index].get("role") == "user"), None)
    if last is None:
        raise InvalidControl(
            f"{node.id} is no agent that was asked, nor its first question: there is no input to change"
        )
    messages[last] = {**messages[last], "content": text}
    return messages
