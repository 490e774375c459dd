"""Compaction: a conversation made smaller after a provider refused it as too large.

Seed 003's recovery: at most two rounds, success is measured in bytes, and if it does not get smaller the failure
stands. The instructions, the task and the last round always stay; a tool's result stays with the call that asked for
it, since providers refuse one without the other. Round 1 thins out (old images, long old results, the middle of a long
conversation); round 2 keeps only what must stay, and cuts inside that. No model is asked: a summary could fail too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from orbiter.types import (
    AssistantMessage,
    ContentBlock,
    Message,
    SystemMessage,
    TextBlock,
    ToolResult,
    UserMessage,
)

MAX_ROUNDS = 2
_KEPT_IMAGES = {1: 5, 2: 1}
_RESULT_CHARS = {1: 4_000, 2: 1_000}
_KEPT_ROUNDS = {1: 4, 2: 1}
_LONG_TEXT_CHARS = 20_000


class Cut(NamedTuple):
    """Something that was taken out: `what` in words, and how many of it."""

    what: str
    number: int


class CompactedMessages(NamedTuple):
    """The smaller conversation, what was cut, and its size in bytes (as JSON) before and after."""

    messages: list[Message]
    cuts: tuple[Cut, ...]
    bytes_before: int
    bytes_after: int


def size_in_bytes(messages: Sequence[Message]) -> int:
    """Bytes of the messages as JSON, which is what a provider counts."""
    return sum(len(m.model_dump_json().encode()) for m in messages)


def compact_messages(messages: Sequence[Message], round_: int) -> CompactedMessages | None:
    """A smaller conversation, or None where nothing more can go.

    Args:
        messages: The conversation that was refused.
        round_: 1 or 2; there is no third (seed 003's hard cap).

    Raises:
        ValueError: `round_` is neither.
    """
    if round_ not in _KEPT_IMAGES:
        raise ValueError(f"compaction round {round_}; there are {MAX_ROUNDS}")
    before = size_in_bytes(messages)
    cuts: list[Cut] = []
    found = _without_old_media(list(messages), _KEPT_IMAGES[round_], cuts)
    found = _shortened_results(found, round_, cuts)
    # In round 1 the middle goes only where thinning out was not worth it.
    if round_ == MAX_ROUNDS or size_in_bytes(found) > before * 0.7:
        found = _without_middle(found, _KEPT_ROUNDS[round_], cuts)
    after = size_in_bytes(found)
    return CompactedMessages(found, tuple(cuts), before, after) if after < before else None


def _without_old_media(messages: list[Message], keep: int, cuts: list[Cut]) -> list[Message]:
    """All but the newest `keep` blocks that are not text become a note in brackets."""
    left, gone = keep, 0
    found: list[Message] = []
    for message in reversed(messages):
        if not isinstance(message.content, list):
            found.append(message)
            continue
        blocks: list[ContentBlock] = []
        for block in reversed(message.content):
            if isinstance(block, TextBlock) or left > 0:
                left -= not isinstance(block, TextBlock)
                blocks.append(block)
            else:
                gone += 1
                blocks.append(TextBlock(text=f"[{block.type} removed to make the request smaller]"))
        found.append(message.model_copy(update={"content": blocks[::-1]}))
    if gone:
        cuts.append(Cut("images or files", gone))
    return found[::-1]


def _shortened_results(messages: list[Message], round_: int, cuts: list[Cut]) -> list[Message]:
    """Long tool results lose their middle, in round 1 not those of the last round of calls; in round 2 texts."""
    spared = _last_round(messages) if round_ == 1 else len(messages)
    found = [
        _shorten(message, _char_limit(message, round_)) if number < spared or round_ == MAX_ROUNDS else message
        for number, message in enumerate(messages)
    ]
    gone = sum(1 for old, new in zip(messages, found, strict=True) if old is not new)
    if gone:
        cuts.append(Cut("long texts shortened", gone))
    return found


def _char_limit(message: Message, round_: int) -> int | None:
    """Characters that a message's text may have; None where it is left alone."""
    if isinstance(message, ToolResult):
        return _RESULT_CHARS[round_]
    return None if isinstance(message, SystemMessage) or round_ == 1 else _LONG_TEXT_CHARS


def _shorten(message: Message, limit: int | None) -> Message:
    if limit is None:
        return message
    shorter: dict[str, Any] = {}
    if isinstance(message.content, str) and len(message.content) > limit:
        shorter["content"] = _clip(message.content, limit)
    if isinstance(message, ToolResult) and message.error and len(message.error) > limit:
        shorter["error"] = _clip(message.error, limit)
    return message.model_copy(update=shorter) if shorter else message


def _without_middle(messages: list[Message], rounds: int, cuts: list[Cut]) -> list[Message]:
    """Instructions, the first question and the last `rounds` rounds; a round begins with a question or a reply."""
    starts = [n for n, m in enumerate(messages) if isinstance(m, UserMessage | AssistantMessage)]
    task = next((n for n, m in enumerate(messages) if isinstance(m, UserMessage)), None)
    if len(starts) <= rounds:
        return messages
    tail = starts[-rounds]
    # The last question stays although its answer took many rounds.
    asked = max((n for n, m in enumerate(messages) if isinstance(m, UserMessage)), default=None)
    kept = {n for n in (task, asked) if n is not None and n < tail}
    staying = [n for n, m in enumerate(messages) if isinstance(m, SystemMessage) or n in kept or n >= tail]
    gone = len(messages) - len(staying)
    if not gone:
        return messages
    cuts.append(Cut("earlier messages", gone))
    found = [messages[n] for n in staying]
    note = f"[{gone} earlier messages were removed to make the request smaller]"
    return _with_note(found, staying.index(max(kept)), note) if kept else found


def _with_note(messages: list[Message], at: int, note: str) -> list[Message]:
    """`messages` with a note at the end of the user's message at `at`: no provider minds that."""
    message = messages[at] if 0 <= at < len(messages) else None
    if not isinstance(message, UserMessage):
        return messages
    content: Any
    if isinstance(message.content, str):
        content = f"{message.content}\n\n{note}"
    else:
        content = [*message.content, TextBlock(text=note)]
    return [*messages[:at], message.model_copy(update={"content": content}), *messages[at + 1 :]]


def _last_round(messages: Sequence[Message]) -> int:
    """Where the last reply that called tools begins; the end if there is none."""
    return max((n for n, m in enumerate(messages) if isinstance(m, AssistantMessage)), default=len(messages))


def _clip(text: str, limit: int) -> str:
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit} characters removed …]\n{text[-tail:]}"
