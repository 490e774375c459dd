"""The record of a run: `RunState`, one `RunNode` per agent run and one child node per step (seed 001, "RunState")."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from time import time
from typing import Any

from pydantic import BaseModel, Field

from orbiter.types import NO_USAGE, Message, ToolCall, Usage

__all__ = ["RunNode", "RunNodeStatus", "RunState"]


class RunNodeStatus(StrEnum):
    """Where a node or a run stands. A cancelled one is `FAILED` with `cancelled` set."""

    INIT = "init"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    TIMEOUT = "timeout"


_TERMINAL = frozenset({RunNodeStatus.SUCCESS, RunNodeStatus.FAILED, RunNodeStatus.TIMEOUT})


class RunNode(BaseModel):
    """One agent run, or (as a child) one step of it. Times are Unix seconds."""

    agent_name: str
    step_index: int = 0
    status: RunNodeStatus = RunNodeStatus.INIT
    group_id: str | None = None
    created_at: float = Field(default_factory=time)
    started_at: float | None = None
    ended_at: float | None = None
    tool_calls: list[ToolCall] = Field(default_factory=list)
    usage: Usage = NO_USAGE
    error: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    cancelled: bool = False
    children: list[RunNode] = Field(default_factory=list)

    def start(self) -> None:
        """The node begins."""
        values = self.__dict__  # where pydantic keeps them; its own setter costs ten times as much, at every step
        values["status"] = RunNodeStatus.RUNNING
        values["started_at"] = time()

    def succeed(self, usage: Usage | None = None) -> None:
        """The node ends well, having used `usage`."""
        self._end(RunNodeStatus.SUCCESS)
        if usage is not None:
            self.__dict__["usage"] = usage

    def fail(self, error: str) -> None:
        """The node ends with an error."""
        self._end(RunNodeStatus.FAILED)
        self.error = error

    def timeout(self, error: str | None = None) -> None:
        """The node ends because its time is over."""
        self._end(RunNodeStatus.TIMEOUT)
        if error is not None:
            self.error = error

    def cancel(self, reason: str = "Cancelled") -> None:
        """The node ends because it was withdrawn, and with it every child that still runs."""
        for child in self.children:
            if not child.is_terminal:
                child.cancel(reason)
        self.fail(reason)
        self.cancelled = True

    def new_child(self) -> RunNode:
        """A node for the next step of this one."""
        child = RunNode(agent_name=self.agent_name, step_index=len(self.children))
        self.children.append(child)
        return child

    def _end(self, status: RunNodeStatus) -> None:
        self.__dict__.update(status=status, ended_at=time())

    @property
    def is_terminal(self) -> bool:
        """Whether the node has ended."""
        return self.status in _TERMINAL

    @property
    def duration(self) -> float | None:
        """Seconds from start to end; None until both are known."""
        if self.started_at is None or self.ended_at is None:
            return None
        return self.ended_at - self.started_at


class RunState:
    """The mutable record of one run, or of several that share it.

    `nodes` holds one node per agent run; `messages` the conversation; `total_usage` the sum over all model calls.
    """

    def __init__(self, agent_name: str = "") -> None:
        self.agent_name = agent_name
        self.messages: list[Message] = []
        self.nodes: list[RunNode] = []
        self.iterations = 0
        self.total_usage: Usage = NO_USAGE
        self.status = RunNodeStatus.INIT
        self.error: str | None = None
        self.cancelled = False

    def start(self) -> None:
        """The run begins, or goes on with another call."""
        self.status = RunNodeStatus.RUNNING

    def succeed(self) -> None:
        """The run ends well."""
        self.status = RunNodeStatus.SUCCESS

    def fail(self, error: str) -> None:
        """The run ends with an error."""
        self.status = RunNodeStatus.FAILED
        self.error = error

    def timeout(self, error: str | None = None) -> None:
        """The run ends because its time is over."""
        self.status = RunNodeStatus.TIMEOUT
        if error is not None:
            self.error = error

    def cancel(self, reason: str = "Cancelled") -> None:
        """The run ends because it was withdrawn, and with it every node that still runs."""
        for node in self.nodes:
            if not node.is_terminal:
                node.cancel(reason)
        self.fail(reason)
        self.cancelled = True

    def add_message(self, message: Message) -> None:
        """Append one message."""
        self.messages.append(message)

    def add_messages(self, messages: Iterable[Message]) -> None:
        """Append messages."""
        self.messages.extend(messages)

    def new_node(self, agent_name: str | None = None, group_id: str | None = None) -> RunNode:
        """A node for the next agent run, appended to `nodes`; counts one iteration."""
        node = RunNode(agent_name=agent_name or self.agent_name, step_index=self.iterations, group_id=group_id)
        self.nodes.append(node)
        self.iterations += 1
        return node

    def record_usage(self, usage: Usage) -> None:
        """Add to `total_usage`."""
        self.total_usage = self.total_usage + usage

    def __repr__(self) -> str:
        return f"RunState(agent_name={self.agent_name!r}, status={str(self.status)!r}, nodes={len(self.nodes)})"

    @property
    def current_node(self) -> RunNode | None:
        """The node made last; None before the first."""
        return self.nodes[-1] if self.nodes else None

    @property
    def is_running(self) -> bool:
        """Whether the run is under way."""
        return self.status is RunNodeStatus.RUNNING

    @property
    def is_terminal(self) -> bool:
        """Whether the run has ended."""
        return self.status in _TERMINAL
