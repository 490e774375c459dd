"""Recorded calls in place of real ones: models answer from the record, tools from it or by running."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from fnmatch import fnmatchcase
from typing import Any

from orbiter.ask import NeedsInput
from runtime.execution.execution_config import CallSite
from runtime.judgement.faults.recorded_fault import error_from_record
from runtime.record.state.durable_run import Node
from runtime.testing.recorded_run import RecordedCall, RecordedRun


class RecordEnded(NeedsInput):
    """The record goes no further here: the run was left, aborted or skipped at this place."""


class NotRecorded(NeedsInput):
    """The code asks for something here of which the record has no answer."""


class RecordedCalls:
    """The interceptor of a replay.

    Args:
        recorded: The record.
        target: The path of the step under test: a tool, which then runs, or a model, whose faults are recorded.
        live: Names of tools, models or paths (patterns as in a shell) whose calls are made.
        replies: By path: a text that the model is taken to answer where the record has none.
    """

    def __init__(
        self, recorded: RecordedRun, target: str, live: Collection[str] = (), replies: Mapping[str, str] | None = None
    ) -> None:
        self.recorded = recorded
        self._target = target
        self._live = tuple(live)
        self._replies = dict(replies or {})
        self._served: Counter[str] = Counter()
        self.made: set[str] = set()
        """Nodes whose calls were made."""
        self.ended: set[str] = set()
        """Nodes before which the record ended."""
        self.missing: dict[str, str] = {}
        """Nodes of which the record has no answer, and what to do about it."""

    async def call(self, site: CallSite, make: Callable[[], Awaitable[Any]]) -> Any:
        """The recorded result or fault of a call, or what `make` brings."""
        node = self.recorded.state.nodes.get(site.node_id)
        if self._is_live(site) or (site.step.kind == "value" and not self._was_answered(site, node)):
            self.made.add(site.node_id)
            return await make()
        if node is not None and self._was_answered(site, node):
            return site.step.codec.load(node.result)
        return self._next(site, node)

    def _is_live(self, site: CallSite) -> bool:
        named = (site.step.name, site.model, site.node_id)
        if any(fnmatchcase(name, pattern) for name in named if name for pattern in self._live):
            return True
        return site.step.kind == "tool" and (f"{self._target}/").startswith(f"{site.node_id}/")

    def is_under_test(self, node_id: str) -> bool:
        """Whether a node is the one under test, or inside it."""
        return f"{node_id}/".startswith(f"{self._target}/")

    def _was_answered(self, site: CallSite, node: Node | None) -> bool:
        """Whether an operator gave a value here, as an answer to a question, that the test is not about."""
        if node is None or site.step.kind != "value" or self.is_under_test(site.node_id):
            return False
        return node.recorded and node.by is not None and node.phase != "skipped"

    def _next(self, site: CallSite, node: Node | None) -> Any:
        calls = self.recorded.calls.get(site.node_id, [])
        if self.is_under_test(site.node_id) and node is not None and self._asks_otherwise(site, node, calls):
            calls = [each for each in calls if each.ended.fault is None]
        at = self._served[site.node_id]
        self._served[site.node_id] += 1
        if at < len(calls):
            return self._replayed(site, calls[at])
        if site.node_id in self._replies:
            return site.step.codec.by_hand(site.arguments, self._replies[site.node_id])
        if calls and not self.is_under_test(site.node_id):
            return self._replayed(site, calls[-1])  # what failed as often as it was tried goes on to fail
        self._refuse(site)
        return None

    def _asks_otherwise(self, site: CallSite, node: Node, calls: list[RecordedCall]) -> bool:
        """Whether the question is not the one that failed: another model, other words, other tools."""
        if site.step.kind != "llm":
            return False
        if site.model != (calls[self._at(site, calls)].model if calls else site.model):
            return True
        asked = ("messages", "tools", "digest")
        return any(site.requested.get(name) != node.requested.get(name) for name in asked)

    def _at(self, site: CallSite, calls: list[RecordedCall]) -> int:
        return min(self._served[site.node_id], len(calls) - 1)

    def _replayed(self, site: CallSite, call: RecordedCall) -> Any:
        if call.ended.fault is not None:
            raise error_from_record(call.ended.fault, site.step.kind, call.model)
        return site.step.codec.load(call.ended.result)

    def _refuse(self, site: CallSite) -> None:
        known = site.node_id in self.recorded.state.nodes
        if (not known or not self.is_under_test(site.node_id)) and self.recorded.cut_short(site.node_id):
            self.ended.add(site.node_id)
            raise RecordEnded("the record of the run ends here")
        what = f"the reply of {site.model}" if site.step.kind == "llm" else f"a result of {site.step.name}"
        name = site.model if site.step.kind == "llm" else site.step.name
        ways = f"live=[{name!r}] makes the call"
        if site.step.kind == "llm":
            ways += f", replies={{{site.node_id!r}: '…'}} says what it answers"
        self.missing[site.node_id] = f"{what} is not in the record: {ways}"
        raise NotRecorded(self.missing[site.node_id])
