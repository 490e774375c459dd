"""The lines of a prompt: what one decides from, in blocks of which the least needed give way where rows are short."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from runtime.judgement.comparison.file_write import FileState
from runtime.judgement.forms.url_host import url_host
from runtime.judgement.recovery.option_table import effect_of
from runtime.judgement.reports.explanation.explain import Explanation, explain
from runtime.record.state.durable_run import DurableRun, Incident
from runtime.record.state.events import AnswerProposed, IncidentOpened
from runtime.record.state.fault_taxonomy import Cause
from screens.render.confusables import is_marked
from screens.render.layout import Span, Spans, span
from screens.render.wrapping import wrap_spans
from screens.views.decisions.prompt_block import Block, block, label_row, mark_invisible
from screens.views.decisions.prompt_call import FOLDED_CHARS, call_blocks
from screens.views.decisions.written_file import ShownWrite, file_block
from screens.views.run.explanation import proposal_words, sentence_words, told_why
from screens.views.run.json_lines import json_text
from screens.views.run.node_names import is_made_up
from screens.views.shared.render_context import RenderContext

_TASK_CHARS: Final = 300

_MODEL, _ORIGIN, _TRIED, _WHY, _TRY = 5, 4, 3, 2, 1
"""Which blocks give way, the highest first (screens.md section 3)."""


class PromptContent(Struct, frozen=True):
    """An incident, and what is known of it that its prompt says.

    Attributes:
        opened: the incident.
        told: its explanation, as it was when it was first shown; None: what the incident alone says.
        held: the names of the nodes that it holds up, the nearest first.
        place: which of the run's open decisions it is, in words.
        advised: the option that an analysis recommends.
        proposal: what an agent proposes.
        model: one line on what a model makes of it.
        may_act: whether this login may answer.
        write: what a permission to write a file would change on disk.
        write_awaited: that is being asked for; keys count once it is known, for they would mean another thing then.
    """

    opened: IncidentOpened
    told: Explanation | None = None
    held: Sequence[str] = ()
    place: str = ""
    advised: str = ""
    proposal: AnswerProposed | None = None
    model: Spans = ()
    may_act: bool = True
    write: ShownWrite | None = None
    write_awaited: bool = False


def prompt_blocks(
    content: PromptContent,
    context: RenderContext,
    *,
    explained: bool = True,
    folded: bool = True,
    fold_chars: int = FOLDED_CHARS,
    file_rows: int | None = None,
) -> list[Block]:
    """What a prompt says of an incident.

    Args:
        content: the incident, and what is known of it.
        context: signs and time.
        explained: whether What, Why, Tried and Try belong to it; not where the page beside it has them.
        folded: whether long arguments are cut.
        fold_chars: of each so many characters are shown then.
        file_rows: of the difference of a written file so many rows are shown; None: all.

    Returns:
        Blocks in the order in which they are read: what must be known stands before what is long.
    """
    opened, write = content.opened, content.write
    told = explain(Incident(opened), DurableRun()) if content.told is None else content.told
    call = call_blocks(opened, context, fold_chars=fold_chars if folded else None)
    proposal = content.proposal
    proposed = [Block("Agent", tuple(proposal_lines(proposal, context)))] if proposal is not None else []
    if told.kind == "permission":
        file_state = write.comparison.state if write is not None else None
        why, safe = _permission_why(opened, context, told), _advice(told, context, opened, file_state)
        if write is not None and folded and write.tells_text:  # then the difference says what the argument has
            call = [each for each in call if each.argument != write.comparison.argument]
        file = [file_block(write, context, file_rows if folded else None)] if write is not None else []
        found = [*_need(opened, context), *call[:1], why, *file, *call[1:], *safe, *proposed, _lineage(opened, context)]
    elif told.kind == "question":
        found = [block("Asks", context.sanitize_lines(opened.question)), *_address(opened, context)]
        found += [*_task(opened, context), *_answered(told, context), *proposed]
        found += call if opened.action.get("arguments") else ()
    else:
        told_blocks = _told_blocks(told, context, opened) if explained else []
        found = [*_address(opened, context), *told_blocks, *proposed, *call, *_said(opened, context, told)]
    found += [*_budget(opened, context), *_carried(opened, context)]
    if content.model and explained:
        found.append(Block("Model", (content.model,), _MODEL))
    if opened.action.get("permission") and any(
        is_marked(piece.text) for each in found for line in each.lines for piece in line
    ):
        said = span("Marked letters look like other letters: read the request with care.", "severity-warning")
        found.append(Block("", (said,)))
    return [each for each in found if each.lines]


def question_lines(content: PromptContent, context: RenderContext) -> list[Spans]:
    """All of a prompt's lines but the model's, nothing left out and nothing folded."""
    return lines_of(prompt_blocks(replace(content, model=()), context, folded=False))


def lines_of(blocks: Iterable[Block]) -> list[Spans]:
    """The lines of all the blocks, in their order."""
    return [line for each in blocks for line in each.lines]


def rows_of(blocks: Iterable[Block], width: int) -> int:
    """How many rows of `width` cells the blocks need."""
    return line_rows(lines_of(blocks), width)


def line_rows(lines: Iterable[Spans], width: int) -> int:
    """How many rows of `width` cells the lines need."""
    return sum(len(wrap_spans(line, max(1, width))) for line in lines)


def without_origin(blocks: Iterable[Block]) -> list[Block]:
    """The blocks but those that give way before a choice loses the row that says what it will do."""
    return [each for each in blocks if each.gives_way < _ORIGIN]


def without_model(blocks: Iterable[Block]) -> list[Block]:
    """The blocks but the line on what a model makes of it, which is the first to give way."""
    return [each for each in blocks if each.gives_way < _MODEL]


def proposal_lines(proposal: AnswerProposed, context: RenderContext) -> list[Spans]:
    """What an agent proposes, why, and with which values. All of it is the agent's own text."""
    who, option = context.sanitize_line(proposal.by.name, 60) or "an agent", context.sanitize_line(proposal.option, 40)
    said = (
        Span(f"{who} proposes {option}: ", "ink-accent"),
        *mark_invisible(context.sanitize_line(proposal.reason, 300)),
    )
    given = [f"{name} = {json_text(value)}" for name, value in proposal.params.items()]
    return [said, *block("gives", [line for text in given for line in context.sanitize_lines(text)]).lines]


def fitting_lines(blocks: Sequence[Block], width: int, rows: int) -> list[Spans]:
    """The lines of the blocks that fit in `rows` of `width` cells; what gives way the soonest is left out first."""
    kept = list(blocks)
    while rows_of(kept, width) > rows and any(each.gives_way for each in kept):
        kept.remove(max(reversed(kept), key=lambda each: each.gives_way))
    return lines_of(kept)


# -- blocks --------------------------------------------------------------------------------------------------


def _told_blocks(told: Explanation, context: RenderContext, opened: IncidentOpened) -> list[Block]:
    tried = sentence_words(told.tried, context) if told.tried is not None else ""
    rows = (
        ("What", sentence_words(told.what, context), "ink-strong", 0),
        ("Why", told_why(told, context), "ink", _WHY),
        ("Tried", tried, "ink", _TRIED),
    )
    found = [Block(label, (label_row(label, (Span(text, ink),)),), gives) for label, text, ink, gives in rows if text]
    return [*found, *_advice(told, context, opened)]


def _advice(
    told: Explanation, context: RenderContext, opened: IncidentOpened, file: FileState | None = None
) -> list[Block]:
    """Which option is proposed, and because of what."""
    words, label = proposal_words(told, context, opened, file=file), told.advice_label
    first, then, last = words.partition(". Then ") if told.act is not None else (words, "", "")
    lines = (f"{first}.", f"Then {last}") if then else (first,)
    rows = (label_row("" if number else label, (Span(line, "ink-accent"),)) for number, line in enumerate(lines))
    return [Block(label, tuple(rows), _TRY)] if words else []


def _answered(told: Explanation, context: RenderContext) -> list[Block]:
    """What an answer to a question will do."""
    does = next((told.consequences[each] for each in told.consequences if effect_of(each) == "input"), None)
    if does is None:
        return []
    return [block("Then", [f"{sentence_words(does, context)} Until it is sent nothing runs here; esc sends nothing."])]


def _task(opened: IncidentOpened, context: RenderContext) -> list[Block]:
    """What the one who asks is at work on."""
    said = context.sanitize_line(opened.task, _TASK_CHARS)
    return [block("Task", [said], gives_way=_ORIGIN)] if said else []


_MAX_ALSO: Final = 3
"""Of the permissions that are asked for next, so many are named."""


def _need(opened: IncidentOpened, context: RenderContext) -> list[Block]:
    need = str(opened.action.get("permission") or "")
    also = opened.action.get("also_needs") or ()
    later = [line for each in also[:_MAX_ALSO] for line in context.exact_lines(str(each))]
    if more := len(also[_MAX_ALSO:]):
        later.append(f"and {more} more")
    return [block("Needs", context.exact_lines(need), "ink-strong"), block("Next", later, gives_way=_ORIGIN)]


_NOT_GRANTED: Final = "which is not granted"
_ASKED_WORDS: Final = re.compile(r"(agent )?'?.{0,80}'? needs (the permission )?", re.DOTALL)


def _permission_why(opened: IncidentOpened, context: RenderContext, told: Explanation) -> Block:
    """Why a person is asked; what the asker says of it only where that is more than the need again."""
    said = opened.message or opened.fault.user_message
    head, found, tail = said.partition(str(opened.action.get("permission") or "\0"))
    again = bool(found) and _ASKED_WORDS.fullmatch(head) is not None
    more = tail.strip(" ,.").removesuffix(_NOT_GRANTED).strip(" ,.")
    tool = str(opened.action.get("tool", "\0"))
    rest = ("" if more.removeprefix("for ").lstrip(": ").startswith(tool) else more) if again else said
    texts = [sentence_words(each, context) for each in told.why[:1]]
    texts += context.exact_lines(rest) if rest else []
    return block("Why", texts, gives_way=0 if rest else _ORIGIN)


def _said(opened: IncidentOpened, context: RenderContext, told: Explanation) -> list[Block]:
    """What the error says, where the explanation does not quote it."""
    said = opened.message or opened.fault.user_message
    if not said or said == opened.fault.author_message or opened.fault.technical or told.kind != "failure":
        return []
    quoted = " ".join([told.what.text, *(each.text for each in told.why)])
    if " ".join(said.split())[:60].rstrip(". ") in quoted or said == opened.fault.exception:
        return []
    return [block("Said", context.sanitize_lines(said), gives_way=_ORIGIN)]


def _lineage(opened: IncidentOpened, context: RenderContext) -> Block:
    named = [name for name in opened.lineage if not is_made_up(name)]
    names = [context.name(name) for name in named]
    return block("By", [context.glyphs.crumb.join(names)] if names else [], gives_way=_ORIGIN)


def _address(opened: IncidentOpened, context: RenderContext) -> list[Block]:
    """The address that a person is asked to open, whole, and whose it is."""
    if not opened.url:
        return []
    host = context.exact_line(url_host(opened.url), 300) or "unknown: read the address with care"
    return [block("Open", context.exact_lines(opened.url)), block("Host", [host])]


def _budget(opened: IncidentOpened, context: RenderContext) -> list[Block]:
    about = opened.action.get("budget")
    if not isinstance(about, Mapping) or opened.fault.cause is Cause.LIMIT_REACHED:  # then What says it
        return []
    return [block("Limit", context.sanitize_lines(limit_words(about)))]


def limit_words(budget: Mapping[str, Any]) -> str:
    """What is used up, of how much, and whose it is."""
    return f"{budget.get('limit')}: {budget.get('used')} of {budget.get('allowed')} used, by {budget.get('of')}"


def _carried(opened: IncidentOpened, context: RenderContext) -> list[Block]:
    """What the error itself carried."""
    return [
        block(context.sanitize_line(name, 20), context.sanitize_lines(json_text(value)), gives_way=_MODEL)
        for name, value in opened.fault.context.items()
        if value not in ("", None, [], {})
    ]
