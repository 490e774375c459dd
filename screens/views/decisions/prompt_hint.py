"""The line below a prompt: what its keys do now, and what its marks mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from screens.render.formatting import pluralize
from screens.render.glyphs import Glyphs
from screens.render.layout import Span, Spans, join_spans, span
from screens.views.decisions.prompt_choices import LATER_OPTION, PROPOSED_MARK, PromptChoice


def held_hint(sends_in: int) -> Spans:
    """Of an answer that goes out in so many seconds."""
    return (
        Span(f"sends in {sends_in} s: ", "state-waiting"),
        *(Span("u", "ink-key"), Span(" takes it back, ", "ink-muted")),
        *(Span("enter", "ink-key"), Span(" sends now", "ink-muted")),
    )


def typing_hint(label: str, keys: Mapping[str, str], told: Sequence[Spans], glyphs: Glyphs) -> Spans:
    """Of a field that is open. The keys stand before what may be long: how it is sent and left must not be cut off.

    Args:
        label: what is typed; empty where the field says it.
        keys: what each key does.
        told: what else is to be said.
        glyphs: the glyphs of the terminal.
    """
    hints = ((Span(key, "ink-key"), Span(f" {does}", "ink-muted")) for key, does in keys.items())
    named = span(f"{label}:", "ink-strong") if label else ()
    return join_spans((named, join_spans(hints, glyphs.dot), *told), "  ")


def mark_words(choices: Sequence[PromptChoice], glyphs: Glyphs, send_keys: Sequence[str] = ("enter",)) -> Spans:
    """What the marks before and behind the labels mean that say nothing of a second key. `send_keys`: what sends a
    form, of one line or of several.
    """
    form = f'"{glyphs.opens}" is a form: runs when sent ({" or ".join(send_keys)}); esc leaves it.'
    marks = (
        (f"{PROPOSED_MARK} proposed", any(each.starred for each in choices)),
        (form, any(each.press == "opens" for each in choices)),
    )
    return join_spans([span(words, "ink-muted") for words, in_sight in marks if in_sight])


def legend(choices: Sequence[PromptChoice], undo_seconds: float = 0.0) -> list[Spans]:
    """What the marks behind and before the labels mean, as far as they are in sight. `undo_seconds`: for how long an
    answer can be taken back.
    """
    acting = [each.key for each in choices if each.press == "acts" and each.option != LATER_OPTION]
    later = f"{', '.join(acting)}: {undo_seconds:.3g}s to undo it, then it runs"
    marks = (
        ("(then y) waits for y", any(each.press == "asks" for each in choices)),
        (later, bool(acting) and undo_seconds > 0),
        ("(model) a model advises this", any(each.advised for each in choices)),
    )
    return [span(words, "ink-muted") for words, in_sight in marks if in_sight]


def lines_below(count: int, glyphs: Glyphs) -> Spans:
    """So many lines of the action are out of sight; nothing for none."""
    return span(f"{glyphs.more} {pluralize(count, 'more line')} below", "severity-warning") if count else ()
