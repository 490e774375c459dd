"""What a prompt says and offers at each of its stages: while an option is chosen, typed, confirmed or sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from screens.render.layout import Spans, span
from screens.views.decisions.prompt import grant_words
from screens.views.decisions.prompt_block import Block, mark_invisible
from screens.views.decisions.prompt_call import FOLDED_ROWS
from screens.views.decisions.prompt_choices import (
    LATER_OPTION,
    PromptChoice,
    adopting_choices,
    destroying_lines,
    explained_choices,
    lifetime_choices,
    prompt_choices,
    view_only_choices,
)
from screens.views.decisions.prompt_lines import PromptContent, prompt_blocks, question_lines
from screens.views.run.explanation import LABEL_CELLS
from screens.views.shared.render_context import RenderContext

PromptMode = Literal["choose", "type", "lifetime", "confirm", "held", "sent"]
_SAID_BEFORE: Final = ("Why", "Safe")
"""Blocks that were read before a second key is asked for."""


class PromptStage(Struct, frozen=True):
    """How far a prompt is.

    Attributes:
        content: what it is about.
        mode: what the next key decides.
        choice: the option that was chosen, where it is typed or confirmed.
        lifetime: how long the grant lasts that is confirmed.
        matched: what that grant would have matched, in words.
        unfolded: whether long arguments are shown whole.
    """

    content: PromptContent
    mode: PromptMode
    choice: PromptChoice | None = None
    lifetime: str = ""
    matched: str = ""
    unfolded: bool = False

    # -- what it says ----------------------------------------------------------------------------------------

    @property
    def confirms_act(self) -> bool:
        """Whether a second key is asked for what would run then: its call stands there to be read."""
        return self.choice is not None and self.choice.confirms in ("in doubt", "breakpoint", "overwrites")

    def blocks(
        self, context: RenderContext, width: int, *, explained: bool, fold_rows: int = FOLDED_ROWS
    ) -> list[Block]:
        """The lines above the choices, in `width` cells. `explained`: whether the explanation belongs to them; not
        where a page has it. `fold_rows`: of each long argument so many rows are shown.
        """
        if self.mode == "confirm" and not self.confirms_act:
            return [Block("", tuple(self._confirm_lines(context)))]
        asked = self.content.opened.question if self.mode == "type" else self.mode == "confirm"
        found = prompt_blocks(
            self.content,
            context,
            explained=explained and not asked,
            folded=not self.unfolded,
            fold_chars=fold_rows * max(1, width - LABEL_CELLS),
            file_rows=fold_rows,
        )
        if self.mode != "confirm":
            return found
        unread = [each for each in found if each.label not in _SAID_BEFORE]
        return [Block("", tuple(self._confirm_lines(context))), *unread]

    def decision(self, offered: Sequence[PromptChoice], context: RenderContext) -> object:
        """What the next key decides about: where it is another, no key counts before it has stood for a moment. An
        advice changes nothing of it.
        """
        about = (self.content.opened.incident_id, self.content.opened.revision, self.mode)
        if self.mode == "held":  # an enter that is held down must not send what it has just chosen
            return about
        if self.mode == "type":
            return (*about, self.choice.option if self.choice is not None else "")
        decides = (
            replace(each, advised=False, proposed=False, looks_first=False, wordings=(), value="") for each in offered
        )
        return (*about, tuple(decides), tuple(self._question(context)))

    def _question(self, context: RenderContext) -> list[Spans]:
        """What keys decide about, however much of it is in sight."""
        confirmed = self._confirm_lines(context) if self.mode == "confirm" else []
        if confirmed and not self.confirms_act:
            return confirmed
        return [*confirmed, *question_lines(self.content, context)]

    def _confirm_lines(self, context: RenderContext) -> list[Spans]:
        if self.choice is not None and not self.choice.standing:
            return destroying_lines(self.choice, context)
        words = grant_words(self.content.opened, self.lifetime)
        lines = [
            span("This grant says:", "ink-muted"),
            *(mark_invisible(line) for line in context.exact_lines(words)),
        ]
        return [*lines, span(context.sanitize_line(self.matched), "severity-warning")] if self.matched else lines

    # -- what it offers --------------------------------------------------------------------------------------

    def choices(
        self, context: RenderContext, letters: Mapping[str, str], *, runs: int, keys: Collection[str]
    ) -> list[PromptChoice]:
        """What may be chosen now.

        Args:
            context: what cleans the words.
            letters: the keys of options.
            runs: how many runs wait for the same breaker.
            keys: the names of the providers' keys that the runtime has.
        """
        if self.mode == "lifetime":
            return lifetime_choices()
        if self.mode == "confirm":
            assert self.choice is not None
            does = "Yes, grant this" if self.choice.standing else f"Yes: {self.choice.label}"
            yes = PromptChoice(self.choice.second_key, "yes", does, enter=False)
            return [PromptChoice("escape", LATER_OPTION, "Back"), yes]
        content = self.content
        if not content.may_act:
            return view_only_choices()
        file = content.write.comparison.state if content.write is not None else None
        offered = prompt_choices(content.opened, context, letters, runs=runs, file=file)
        offered += adopting_choices(content.opened, content.proposal, context, runs=runs)
        offered = explained_choices(offered, content.told, context, keys)
        if not content.advised:
            return offered
        return [replace(each, advised=each.option == content.advised and not each.standing) for each in offered]
