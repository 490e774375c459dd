"""The tree of a run as nested parts that a reader opens, with what each node was given and gave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from console.html.durations import took
from console.html.markup import Html, closing, element, folded, join, opening, preformatted, text
from console.html.size_limit import ReportSizes, SizeLimit
from runtime.judgement.reports.transcript import TranscriptMessage, build_transcript
from runtime.judgement.reports.waiting_nodes import holding_nodes
from runtime.record.state.durable_run import DurableRun, Node
from screens.render.formatting import format_cost, format_duration, format_tokens, pluralize
from screens.render.glyphs import UNICODE_GLYPHS
from screens.views.run.json_lines import json_text
from screens.views.run.node_line import argument_digest
from screens.views.run.node_state import kind_words, shown_state, shown_word

MAX_DEPTH: Final = 40
"""Levels of nesting; deeper nodes stand on the last one. Browsers cut a page at 512 levels of elements."""
_FEW_NODES: Final = 60
"""Up to so many nodes the tree is unfolded; of a larger one, what needs a look."""
_UNFOLDED_STATES: Final = frozenset({"failed", "timed_out", "degraded", "waiting", "retrying", "running"})


def number_nodes(state: DurableRun) -> dict[str, int]:
    """A number for each node, which its place in the page is named by."""
    return {node.id: number for number, (_, node) in enumerate(state.walk(), 1)}


def run_tree(state: DurableRun, numbers: dict[str, int], sizes: ReportSizes) -> Html:
    """The tree; what does not fit is counted below it."""
    tree, texts = SizeLimit(sizes.tree), SizeLimit(sizes.payloads)
    parts: list[Html] = []
    depth = 0
    holding = holding_nodes(state)
    for level, node in state.walk():
        head = _head(node, state, numbers, holding)
        if not tree.takes(head):
            continue
        at = min(level, MAX_DEPTH)
        parts += [_END] * max(0, depth - at)
        depth = min(depth, at)
        parts.append(head)
        parts.append(_body(node, state, texts))
        depth += 1
    parts += [_END] * depth
    notes = []
    if tree.left_out:
        notes.append(f"Left out {pluralize(tree.left_out, 'node')}.")
    if texts.left_out:
        notes.append(f"Left out {pluralize(texts.left_out, 'text')} of nodes (messages, arguments, results).")
    return join((*parts, *(element("p", note, class_="gap") for note in notes)))


_END: Final = closing("details")


def _head(node: Node, state: DurableRun, numbers: dict[str, int], holding: dict[str, int]) -> Html:
    shown = shown_state(node, holding)
    facts = (
        kind_words(node) if node.kind not in ("tool", "agent") or node.info.get("framework") else "",
        f"×{node.tries_begun}" if node.tries_begun > 1 else "",
        f"{tokens} tokens" if (tokens := format_tokens(node.input_tokens, node.output_tokens)) else "",
        format_cost(node.cost_usd),
        took(node.opened_at, node.closed_at or state.updated_at),
    )
    sign = UNICODE_GLYPHS.state.get(shown, "?")
    given = argument_digest(node)
    few = len(state.nodes) <= _FEW_NODES
    unfolds = not node.is_step and (few or not node.parent_id or node.phase in _UNFOLDED_STATES)
    unfolded = {"open": ""} if unfolds else {}
    told = " · ".join(fact for fact in facts if fact)
    summary = (
        element("span", sign, class_="state"),
        element("b", text(node.name or "?", 120)),
        element("code", text(given, 160)) if given else Html(""),
        element("small", element("span", shown_word(node, holding), class_="word"), f" · {told}" if told else ""),
    )
    start = opening("details", id=f"n{numbers[node.id]}", class_=f"node s-{shown.replace('_', '-')}", **unfolded)
    return join((start, element("summary", *summary)))


def _body(node: Node, state: DurableRun, limit: SizeLimit) -> Html:
    return join(piece for piece in _pieces(node, state) if limit.takes(piece))


def _pieces(node: Node, state: DurableRun) -> Iterator[Html]:
    """What there is to say of a node; texts that may be long are folded."""
    if node.opened_at is not None:
        yield element("p", f"began {node.opened_at:%H:%M:%S} UTC", *_outcome(node), class_="fact")
    yield from _asked(node, state)
    for each in node.tries:
        pause = f", then a pause of {format_duration(each.wait_s)} ({each.wait_source})" if each.wait_s else ""
        told = f"Attempt {each.attempt} failed after {format_duration(each.seconds)}{pause}"
        yield element("p", f"{told}: {each.cause}: {each.message}", class_="fact warn")
    for back in node.fell_back:
        yield element("p", f"Went on with {back.to_model} instead of {back.from_model}: {back.reason}", class_="fact")
    for warning in node.warnings:
        yield element("p", f"{UNICODE_GLYPHS.warning} {warning}", class_="fact warn")
    for use in state.granted.get(node.id, ()):
        yield element("p", f"Grant {use.grant_id} let {use.need} pass", class_="fact")
    if node.error:
        yield element("div", preformatted(node.error), class_="error")
    yield from _gave(node)


def _outcome(node: Node) -> tuple[str, ...]:
    if node.by is None:
        return ()
    return (f", decided by {node.by.name or 'the runtime'} ({node.by.channel})",)


def _asked(node: Node, state: DurableRun) -> Iterator[Html]:
    if node.kind == "llm":
        yield from _messages(node, state)
        return
    if task := node.info.get("task"):
        yield _payload("task", task)
    works_on = node.effective.get("arguments", node.requested.get("arguments"))
    if works_on:
        yield _payload("arguments", works_on)
    before = node.requested.get("arguments")
    if before and works_on != before:
        yield _payload("arguments, as the model wrote them", before)


def _messages(node: Node, state: DurableRun) -> Iterator[Html]:
    """The messages where the record has them in full, which is an agent's first call; later ones follow from it."""
    model = node.effective.get("model") or node.requested.get("model")
    if model:
        yield element("p", f"model {model}", class_="fact")
    if any("messages" in source for source in (node.effective, node.edits or {}, node.requested)):
        transcript = build_transcript(state, node.id)
        title = pluralize(transcript.number, "message")
        yield folded(title, join(_message(each) for each in transcript.messages))
    elif isinstance(count := node.requested.get("count"), int):
        told = f"{pluralize(count, 'message')}: those of the first call, with the replies and results since"
        yield element("p", told, class_="fact")


def _message(message: TranscriptMessage) -> Html:
    who = f"{message.role} {message.name}".strip()
    calls = [join((element("p", f"calls {name}"), preformatted(arguments))) for name, arguments in message.calls]
    body = preformatted(message.text) if message.text else Html("")
    return element("div", element("h4", who), body, *calls, class_="message")


def _gave(node: Node) -> Iterator[Html]:
    if node.is_step and node.result is not None:
        reply = node.result
        if node.kind == "llm" and isinstance(reply, dict):
            yield folded("reply", _message(_reply(reply)))
        else:
            yield _payload("result", reply.get("content", reply) if isinstance(reply, dict) else reply)
    elif node.output:
        yield _payload("output", node.output)


def _reply(result: dict[str, Any]) -> TranscriptMessage:
    calls = result.get("tool_calls")
    asked = [each for each in calls if isinstance(each, dict)] if isinstance(calls, list) else []
    return TranscriptMessage(
        "assistant",
        _as_text(result.get("text", "")),
        "",
        tuple((str(each.get("name", "")), _as_text(each.get("arguments", ""))) for each in asked),
    )


def _payload(title: str, value: Any) -> Html:
    return folded(title, preformatted(_as_text(value)))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)
