"""The plan of a bulk answer: what is answered, to which of the equal decisions, and which of them were looked at."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from runtime.judgement.recovery.param_validation import check_params
from runtime.operations.requests.answers import AnswerEqual, Precedent
from screens.render.layout import Spans
from screens.views.decisions import bulk_answer as view
from screens.views.decisions.batch_action import BatchItem
from screens.views.decisions.incident_groups import OpenDecision
from screens.views.decisions.prompt_choices import PromptChoice
from screens.views.decisions.typed_answer import answer_params
from screens.views.shared.render_context import RenderContext


class BulkAnswerPlan:
    """Filled while the operator decides: `choose` or `repeat_precedent`, then `give`, then a look at each that may have
    happened; `request` at the end.
    """

    def __init__(self, alike: tuple[OpenDecision, ...]) -> None:
        """`alike`: at least one decision, the oldest first."""
        self.asked = alike
        """Those that are answered: all but what happened already."""
        self.to_look: list[OpenDecision] = []
        """Those that may have happened and were not looked at yet."""
        self.choice: PromptChoice | None = None
        self._alike = alike
        self._as_before = False
        self._params: dict[str, Any] = {}
        self._looked_at: list[str] = []

    def repeat_precedent(self) -> None:
        """Answer as one of them was answered before."""
        self._as_before, self.asked = True, self._alike

    def choose(self, choice: PromptChoice) -> None:
        """Answer with an option; `give` its parameter, if it has one."""
        self.choice, self._as_before = choice, False
        self._params = answer_params(choice) if choice.param is None else {}
        self.asked, self._looked_at = self._alike, []

    def give(self, value: Any, now: datetime) -> None:
        """The option's parameter. Raises `ValueError` where it does not fit."""
        assert self.choice is not None
        params = answer_params(self.choice, value)
        check_params(self._alike[0].opened, self.choice.option, params, now)
        self._params = params

    def begin_look(self) -> bool:
        """Whether some of them may have happened: each is asked about, one after the other."""
        assert self.choice is not None
        self.to_look = view.to_look_at(self._alike, self.choice.option)
        return bool(self.to_look)

    def record_look(self, *, happened: bool) -> None:
        """What the operator found of the one that is looked at. What happened is not answered."""
        found = self.to_look.pop(0)
        if happened:
            self.asked = tuple(each for each in self.asked if each is not found)
        else:
            self._looked_at.append(found.opened.incident_id)

    def look_lines(self, items: Sequence[BatchItem]) -> list[Spans]:
        """The one that is looked at; `items` are all of them, as they are shown."""
        found = self.to_look[0]
        item = next(each for each in items if each.key == found.opened.incident_id)
        total = len(view.to_look_at(self._alike, self.choice.option if self.choice is not None else ""))
        return view.look_words(item, total - len(self.to_look) + 1, total)

    def words(self, precedent: Precedent | None, context: RenderContext) -> str:
        """What will be done."""
        if self._as_before:
            label = context.sanitize_line(view.same_words(precedent, self._alike), 40)
            return view.plan_words(label, self.asked, context, proven=True, option="")
        assert self.choice is not None
        label = view.answer_words(self.choice, self._params, context)
        return view.plan_words(label, self.asked, context, proven=False, option=self.choice.option)

    def request(self, precedent: Precedent | None) -> AnswerEqual:
        """The plan as a request."""
        ids = tuple(found.opened.incident_id for found in self.asked)
        if self._as_before:
            assert precedent is not None
            answer = AnswerEqual(incident_id=precedent.id, option=precedent.option)
        else:
            assert self.choice is not None
            answer = AnswerEqual(incident_id=ids[0], option=self.choice.option, params=self._params)
        return replace(answer, only=ids, looked_at=tuple(self._looked_at))
