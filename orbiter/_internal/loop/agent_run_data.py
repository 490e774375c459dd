"""What one run of an agent needs and collects: settings, conversation, counts.

Everything that changes while an agent runs stands here and nothing of it in the agent, so that one agent can be run a
thousand times at once. `AgentRun` is the loop over it; how models and tools are called, and what is corrected, are
functions of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from orbiter.steps import DIRECT, Scope

if TYPE_CHECKING:
    from orbiter._internal.loop.loop_detection import LoopDetector
    from orbiter._internal.loop.model_step import ModelReply
    from orbiter._internal.state import RunNode
    from orbiter.agent import Agent
    from orbiter.errors import AgentError
    from orbiter.types import Message, Usage

ExplainPeer = Callable[[str], str | None]
"""For another agent's name: what the model should do to reach it. None for strangers."""
NO_TOOLS: Mapping[str, Any] = {}


class AgentRunData:
    """The data of one run of an agent.

    Args:
        agent: Who runs.
        history: The conversation before.
        provider: Who answers.
        max_retries: Attempts for a model call, and replies that a model may spoil in a row. 0 counts as 1.
        loop_detector: Counts equal tool calls in a row; None: no check.
        delegates: Tools of this run alone, by name: a team's delegate tools.
        peers: What to say to a model that calls another agent as if it were a tool.
        node: The run's node in a `RunState`, to which each model call is added as a child.
        resolve: Builds a provider from the agent's model where none was given; inside the agent's node, so that a
            missing key is a fault of this agent that can be healed. With `check=False` it asks for no key.
    """

    __slots__ = (
        "agent",
        "degraded",
        "delegates",
        "exhausted",
        "extra_tools",
        "failure",
        "history",
        "hook_error",
        "invalid_replies",
        "loop_detector",
        "max_steps",
        "messages",
        "new_from",
        "node",
        "peers",
        "provider",
        "reply",
        "resolve",
        "schemas",
        "scope",
        "steps_used",
        "tool_names",
        "tries",
        "turn",
        "usage",
        "warnings",
    )

    def __init__(
        self,
        agent: Agent,
        *,
        history: list[Message] | None,
        provider: Any,
        max_retries: int,
        loop_detector: LoopDetector | None = None,
        delegates: Mapping[str, Any] = NO_TOOLS,
        peers: ExplainPeer | None = None,
        node: RunNode | None = None,
        resolve: Callable[..., Any] | None = None,
    ) -> None:
        self.agent = agent
        self.history = history
        self.provider = provider
        self.resolve = resolve
        self.node = node
        self.max_steps = agent.max_steps
        self.tries = max_retries if max_retries > 0 else 1
        self.loop_detector = loop_detector
        self.delegates = delegates
        self.peers = peers
        self.warnings: list[str] = []
        self.scope: Scope = DIRECT
        self.reply: ModelReply | None = None
        self.hook_error: BaseException | None = None
        self.failure: AgentError | None = None
        self._reset()

    def _reset(self) -> None:
        self.messages: list[Message] = []
        self.schemas: list[dict[str, Any]] | None = None
        self.tool_names: list[str] = []
        self.extra_tools: Mapping[str, Any] = self.delegates
        self.usage: list[Usage] = []
        self.degraded = ""
        self.exhausted = False
        self.turn = self.steps_used = self.new_from = self.invalid_replies = 0

    def restart(self) -> None:
        """Back to the beginning, if turns were run before: all counts start at zero, and the same replies will be
        counted again.
        """
        if not self.messages:
            return
        self._reset()
        self.warnings.clear()
        if self.loop_detector is not None:
            self.loop_detector.rewind()
        if self.node is not None:
            self.node.children.clear()
