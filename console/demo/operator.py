"""The demo's operator for runs without a terminal: fixed answers, recorded as such."""

from __future__ import annotations

from collections.abc import Sequence

from console.demo.report_place import report_file
from console.linear.operators import OperatorAnswer
from console.output import print_note
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.events import Actor, IncidentOpened

ANSWER_DELAY_S = 3


class DemoOperator:
    """Grants what is asked for, this once; says for whom the report is; looks before it repeats; skips what stays."""

    by = Actor(name="demo operator", channel="rule")

    async def confirm(self, lines: Sequence[str]) -> bool:
        return False  # it grants for once, and is not asked

    def remind(self) -> None:
        return None

    def answer_refused(self, opened: IncidentOpened, given: OperatorAnswer, why: str) -> None:
        print_note(why)

    async def decide(self, state: DurableRun, opened: IncidentOpened) -> OperatorAnswer:
        offered = {option.id for option in opened.options}
        before = sum(
            each.answer is not None and each.opened.node_id == opened.node_id for each in state.incidents.values()
        )
        if "grant" in offered:
            return OperatorAnswer("grant", {"for": "once"}, "the demo may write its report")
        if "input" in offered:
            return OperatorAnswer("input", {"value": "the maintainers of this directory"}, "the demo's own reader")
        if opened.in_doubt and "result" in offered and report_file().exists():
            return OperatorAnswer("result", {"value": f"wrote {report_file()}"}, "the report is there: it was written")
        tries = ANSWER_DELAY_S if opened.action.get("model") else 1
        if before < tries and "retry" in offered:
            return OperatorAnswer("retry", reason="it may have been a passing fault")
        if "skip" in offered:
            return OperatorAnswer("skip", reason="it fails still, and the report can do without it")
        return OperatorAnswer("abort", reason="the demo has no answer to this")
