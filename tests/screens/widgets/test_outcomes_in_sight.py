"""What each option will do is in sight at 80 columns, whole: for every option of every cause."""

from __future__ import annotations

from msgspec.structs import replace

from runtime.judgement.recovery.option_outcomes import BRIEF_CHARS, OUTCOMES
from runtime.judgement.reports.explanation.explain import explain
from runtime.judgement.reports.explanation.sentence import read_template
from screens.render.layout import plain_text, width_of
from screens.views.decisions.prompt_choices import LATER_OPTION
from screens.views.decisions.prompt_lines import PromptContent, line_rows
from screens.widgets.prompts.option_columns import OptionColumns
from screens.widgets.prompts.outcome_text import OutcomeText
from tests.console.app.console_bench import armed, broken, console, prompt_of
from tests.runtime.judgement.reports.explanation.cases import every_failure, every_kind


def test_the_last_wording_of_an_outcome_names_no_fact_and_is_short() -> None:
    for option, cases in OUTCOMES.items():
        for case, told in cases.items():
            assert not read_template(told[-1]).names, f"{option}, {case}: the last wording is always known"
            assert len(told[-1]) <= BRIEF_CHARS, f"{option}, {case}: no room for {told[-1]!r} behind a label"


async def test_no_outcome_is_cut_at_80_columns_whichever_option_is_marked() -> None:
    """The row of each option has a whole sentence; the rows below have the fullest one of the option that is marked."""
    checked: set[str] = set()
    async with console(broken(), run_id="run-3", size=(80, 24)) as (pilot, _):
        await armed(pilot)
        prompt = prompt_of(pilot)
        columns, outcome = prompt.query_one(OptionColumns), prompt.query_one(OutcomeText)
        assert pilot.app.size.width == 80
        for number, (name, run) in enumerate((*every_failure(), *every_kind())):
            opened = replace(run.incident.opened, incident_id=f"case-{number}", question="")
            prompt.ask(PromptContent(opened, told=explain(run.incident, run.state)))
            below = prompt._rows.outcome_rows
            for at, choice in enumerate(columns.choices):
                columns._put(at)
                row = plain_text(columns._cell(choice, marked=True))
                assert choice.wordings, f"{name}: {choice.option} says what it will do"
                assert width_of(columns._cell(choice, marked=True)) < columns.visible_size.width, f"{name}: {row!r}"
                said = outcome._sentences(choice)
                assert line_rows(said, outcome._text_width) <= below, f"{name}: {said} needs more than {below} rows"
                told = " ".join(plain_text(line) for line in said)
                if choice.option == LATER_OPTION:  # nothing runs, so its brief wording is enough
                    assert any(each in row for each in choice.wordings)
                else:
                    assert choice.outcome in row or choice.outcome in told
                checked.add(choice.option)
    assert checked >= set(OUTCOMES)
