"""Delivery of messages that operators send to agents while a run goes on."""

from __future__ import annotations

from orbiter.types import Message, UserMessage
from runtime.execution.run_session import RunSession
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.rewind import place_of


async def deliver_messages(session: RunSession, node: Node, turn: int, messages: list[Message]) -> None:
    """Add to an agent's conversation what was delivered at this turn in an earlier life, and what waits for it now.

    Args:
        session: The run's session.
        node: The agent's node.
        turn: The number of the turn that begins.
        messages: The conversation; messages are appended.
    """
    messages.extend(UserMessage(content=text) for text in node.delivered.get(turn, ()))
    state = session.state
    if not state.injected or any(place_of(child)[0] >= turn for child in _answered_calls(state, node)):
        return  # only at the turn that is really next: what was said in turns that are recalled was said without it
    found = {key: each for key, each in state.injected.items() if _is_addressee(node, each)}
    if not found:
        return
    texts = tuple(each.text for each in found.values())
    await session.record(
        ev.MessageDelivered(
            node_id=node.id, parent_id=node.parent_id, turn=turn, texts=texts, injection_ids=tuple(found)
        )
    )
    messages.extend(UserMessage(content=text) for text in texts)


def _answered_calls(state: DurableRun, node: Node) -> list[str]:
    """The model's calls under an agent that have an answer already."""
    return [child for child in node.children if state.nodes[child].kind == "llm" and state.nodes[child].recorded]


def _is_addressee(node: Node, injected: ev.MessageInjected) -> bool:
    return injected.node_id == node.id if injected.node_id else injected.agent == node.name
