"""A recorded run as a replay needs it: what each call came to, in order, and what operators decided."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from runtime.judgement.reports.export_file import Export, read_export
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Incident, Node
from runtime.testing.portable_paths import with_paths


@dataclass(slots=True, frozen=True)
class RecordedCall:
    """A call that came to an end by itself: which model was asked (empty for a tool), and what came of it."""

    model: str
    ended: ev.StepEnded


@dataclass(slots=True)
class RecordedRun:
    """An export, by path."""

    export: Export
    state: DurableRun
    calls: dict[str, list[RecordedCall]] = field(default_factory=dict)
    """By node: what its attempts came to."""

    def answers(self, node_id: str) -> list[Incident]:
        """The incidents of a node, in the order in which they opened."""
        node = self.state.nodes.get(node_id)
        return [self.state.incidents[each] for each in node.incidents] if node is not None else []

    def cut_short(self, node_id: str) -> bool:
        """Whether the record ends inside the parent of a node: it did not come to its own end there, so what would
        have come next is not known.
        """
        parent = node_id.rpartition("/")[0]
        while parent and parent not in self.state.nodes:
            parent = parent.rpartition("/")[0]
        found = self.state.nodes.get(parent)
        if found is None:
            return self.state.phase not in ("completed", "degraded")
        return found.phase not in ("succeeded", "degraded")


def read_recorded_run(text: str, workspace: Path, home: Path) -> RecordedRun:
    """A recorded run from the text of its file.

    Args:
        text: The file, as `orbiter-console export RUN --test` writes it.
        workspace: The directory that stands for the one in which the run was recorded.
        home: The user's own directory.

    Raises:
        InvalidExport: the text is not an export, or was cut.
    """
    export = read_export(with_paths(text, workspace, home))
    state = export.state()
    return RecordedRun(export, state, _calls(export, state))


def _calls(export: Export, state: DurableRun) -> dict[str, list[RecordedCall]]:
    models: dict[str, str] = {}
    calls: dict[str, list[RecordedCall]] = defaultdict(list)
    for event in export.events:
        node = state.nodes.get(event.node_id)
        if node is None or event.seq < node.opened_seq:
            continue  # of before a rewind
        if isinstance(event, ev.StepStarted):
            models[node.id] = str(event.effective.get("model") or event.requested.get("model") or _model(node))
        elif isinstance(event, ev.StepEnded) and event.by is None and not event.secret:
            calls[node.id].append(RecordedCall(models.get(node.id, "") if node.kind == "llm" else "", event))
    return dict(calls)


def _model(node: Node) -> str:
    return str(node.requested.get("model", ""))
