"""A new option is one entry in the table: it is offered, asked for, checked, documented and carried out everywhere.

And of every option that there is, all surfaces say the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.cli import cli
from console.linear.prompts import params_asked, read_params
from console.preferences.keymap import build_keymap
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.recovery.input_validation import InvalidInput
from runtime.judgement.recovery.option_spec import OptionParam, OptionSpec, ParamChoice
from runtime.judgement.recovery.option_table import OPTIONS, consequence_text, option_keys
from runtime.judgement.recovery.options import confirmation_of, make_option, options_for
from runtime.judgement.recovery.param_validation import check_params
from runtime.link.wire.link_status import CommandRefused
from runtime.operations.answer_params import InvalidCommand, checked_params
from runtime.operations.requests.answers import AnswerIncident
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.service.embedded import EmbeddedRuntime
from screens.pages.inbox import InboxScreen
from screens.shell.key_actions import actions
from screens.views.decisions.prompt_choices import LATER_OPTION, PromptChoice, prompt_choices
from screens.views.decisions.typed_answer import answer_params
from screens.views.shared.render_context import RenderContext
from screens.widgets.forms.answer_form import AnswerForm
from tests.console.app.console_bench import answers, armed, console, text_of
from tests.console.linear.test_prompts import Terminal
from tests.pages import commands_page, keys_page, options_table
from tests.present import present
from tests.runtime.bench import Bench
from tests.runtime.link.linked import linked
from tests.screens.lonely import showing
from tests.screens.stories import BROKEN_TOOL, START, Story
from tests.screens.waiting import press, until

SWARMS = Path(__file__).parents[1] / "data" / "swarms" / "options.py"
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

IMPROVISE = OptionSpec(
    id="improvise",
    label="Improvise the result",
    key="w",
    does="makes a result up, in a tone",
    effect="result",
    params=(
        OptionParam("value", "text", "what to make up", required=True, schema="result"),
        OptionParam(
            "tone",
            "choice",
            "in which tone",
            default="dry",
            choices=(ParamChoice("dry", "without a joke"), ParamChoice("merry", "with one")),
            asked="lines",
        ),
    ),
    offered=lambda occasion: occasion.where == "tool",
)


@pytest.fixture
def improvise() -> Iterator[OptionSpec]:
    """A throw-away option: this entry is all there is of it."""
    OPTIONS[IMPROVISE.id] = IMPROVISE
    yield IMPROVISE
    del OPTIONS[IMPROVISE.id]


def opened_of(**more: Any) -> ev.IncidentOpened:
    options, safe = options_for(BROKEN_TOOL, "tool")
    return ev.IncidentOpened(incident_id="i-1", fault=BROKEN_TOOL, options=options, safe=safe, **more)


def story_of(run_id: str, **more: Any) -> Story:
    story = Story(run_id, f"title of {run_id}", START)
    tool = story.start("tool", "query", story.open("agent", "analyst", story.begin("Query.")))
    opened = opened_of(action={"tool": "query"}, fingerprint="f-same", message="no such table", **more)
    opened = replace(opened, incident_id=f"{run_id}-i")
    story.tell(opened, tool, story.state.nodes[tool].parent_id)
    return story


# -- a new option, surface by surface ----------------------------------------------------------------------------


def test_it_is_offered_where_its_entry_says(improvise: OptionSpec) -> None:
    at_tool = [found.id for found in options_for(BROKEN_TOOL, "tool")[0]]
    assert at_tool[-3:] == ["improvise", "skip", "abort"]
    assert "improvise" not in [found.id for found in options_for(BROKEN_TOOL, "llm")[0]]
    assert make_option("improvise").label == improvise.label


async def test_the_prompt_offers_it_by_its_key_and_asks_for_its_value(improvise: OptionSpec) -> None:
    async with console(story_of("run-1"), run_id="run-1") as (pilot, link):
        await armed(pilot)
        assert improvise.label in text_of(pilot)
        await press(pilot, "w", *"by hand", "enter", then=lambda: bool(link.said))
        assert answers(link) == [("improvise", {"value": "by hand"})]
        await until(pilot, lambda: f": {improvise.label}" in text_of(pilot))


async def test_the_form_of_a_result_is_opened_by_its_key_and_sent_with_it(improvise: OptionSpec) -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "integer"}}, "required": ["rows"]}
    story = story_of("run-1", result_schema=schema)
    async with console(story, run_id="run-1") as (pilot, link):
        await armed(pilot)
        await pilot.press("w")
        await until(
            pilot, lambda: bool(rows := pilot.app.screen.query_one(AnswerForm).rows) and rows[0].has_focus_within
        )
        await press(pilot, "7", "ctrl+s", then=lambda: bool(link.said))
        assert answers(link) == [("improvise", {"value": {"rows": 7}})]


async def test_a_bulk_answer_offers_it_and_asks_for_its_value(improvise: OptionSpec) -> None:
    async with showing(InboxScreen, story_of("run-1"), story_of("run-2"), size=(140, 40)) as (pilot, link):
        await press(pilot, "B", then=f"w      {improvise.label}")
        await press(pilot, "w", *"made up", "enter", then=f"with {improvise.label}: made up?")
        await press(pilot, "y", then=lambda: any(verb == "answer_like" for verb, _ in link.said))
        said = next(args for verb, args in link.said if verb == "answer_like")
        assert (said["option"], said["params"]) == ("improvise", {"value": "made up"})


async def test_the_linear_mode_asks_for_both_of_its_parameters(improvise: OptionSpec) -> None:
    terminal = Terminal("x", "loud", "merry")
    found = await read_params(opened_of(), make_option(improvise.id), terminal)
    assert found == {"value": "x", "tone": "merry"}
    assert terminal.questions[0].startswith("what to make up (")
    assert terminal.questions[1] == "in which tone? dry or merry (Enter: back):"
    assert terminal.questions[2].startswith("'improvise': tone: 'loud' is not one of these: dry, merry. in which tone?")


def test_the_link_checks_its_parameters(improvise: OptionSpec) -> None:
    assert checked_params(opened_of(), improvise.id, {"value": "x"}) == {"value": "x", "tone": "dry"}
    for params, said in (({}, "needs a value: give --value"), ({"value": "x", "tone": "odd"}, "not one of these")):
        with pytest.raises(InvalidCommand, match=said):
            checked_params(opened_of(), improvise.id, params)


async def test_its_key_and_words_stand_on_the_page_of_keys(improvise: OptionSpec) -> None:
    assert ("decision.improvise", ("w",), improvise.pressed_label) in [
        (each.id, each.keys, each.does) for each in actions()
    ]
    assert build_keymap(actions(), {"decision.improvise": "W"}).letters()["improvise"] == "W"
    async with console(story_of("run-1"), run_id="run-1", size=(100, 60)) as (pilot, _):
        await armed(pilot)
        await press(pilot, "question_mark", then="This decision")
        shown = [line for line in text_of(pilot).splitlines() if improvise.label in line]
        assert any(
            ["w", *improvise.pressed_label.split()] == [each for each in line.split() if each != "│"] for line in shown
        )


def test_the_manual_has_it(improvise: OptionSpec) -> None:
    assert (
        "| `improvise` | Improvise the result | `w` | `--value`, `--tone`, `--file` | makes a result" in options_table()
    )
    assert "| `decision.improvise` | `w` | Improvise the result… | `answer INCIDENT improvise` |" in keys_page()
    assert "| `--tone TEXT` | With improvise: in which tone: dry, merry (else dry). |" in commands_page()


@asynccontextmanager
async def bench_at(place: Path) -> AsyncIterator[Bench]:
    async with await open_journal(place / ".orbiter") as journal:
        yield Bench(place, journal)


async def _told_by_the_link(place: Path, request: AnswerIncident) -> None:
    config = ExecutionConfig(workspace=str(place))
    with EmbeddedRuntime(place / ".orbiter", config, listening=False, driving=False) as runtime:
        async with linked(runtime.transport()) as client:
            await client.ask(request)


@pytest.mark.parametrize("way", ["command line", "link"])
def test_the_command_line_and_the_link_answer_with_it_and_the_run_goes_on(
    way: str, improvise: OptionSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ORBITER_STATE", raising=False)
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))

    async def asked() -> tuple[str, str]:
        async with bench_at(tmp_path) as bench:
            run = await bench.decisions.start(f"{SWARMS}:reacher", "go", by=ev.Actor(name="tester"))
            async with bench.driving():
                (incident,) = await bench.incidents(run)
            return run, incident.opened.incident_id

    async def went_on(run: str) -> tuple[str, str, dict[str, Any]]:
        async with bench_at(tmp_path) as bench, bench.driving():
            state = await bench.ended(run)
            (incident,) = state.incidents.values()
            assert incident.answer is not None
            return state.phase, state.output, incident.answer.params

    run, incident_id = asyncio.run(asked())
    if way == "link":
        odd, merry = (
            AnswerIncident(incident_id=incident_id, option=improvise.id, params={"value": "it was up", "tone": tone})
            for tone in ("odd", "merry")
        )
        with pytest.raises(CommandRefused, match="not one of these"):
            asyncio.run(_told_by_the_link(tmp_path, odd))
        asyncio.run(_told_by_the_link(tmp_path, merry))
    else:
        words = ["answer", incident_id, improvise.id, "--value", "it was up"]
        assert "not one of these" in CliRunner().invoke(cli, [*words, "--tone", "odd"]).stderr
        done = CliRunner().invoke(cli, [*words, "--tone", "merry"])
        assert done.exit_code == 0, done.stderr
    assert asyncio.run(went_on(run)) == ("completed", "then: it was up", {"value": "it was up", "tone": "merry"})


# -- every option, on every surface ------------------------------------------------------------------------------

SURFACES = [*OPTIONS.values()]


def choices_of(spec: OptionSpec, **more: Any) -> list[PromptChoice]:
    opened = replace(opened_of(**more), options=(make_option(spec.id),))
    return [each for each in prompt_choices(opened, RenderContext(START)) if each.option != LATER_OPTION]


@pytest.mark.parametrize("spec", SURFACES, ids=lambda spec: spec.id)
def test_every_surface_says_the_same_of_an_option(spec: OptionSpec) -> None:
    offered = make_option(spec.id)
    choice, *longer = choices_of(spec)
    assert (choice.key, option_keys()[spec.id]) == (spec.key, spec.key)
    assert choice.label.startswith(spec.label)
    assert [each.key for each in longer] == ([spec.key.upper()] if spec.effect == "grant" else [])
    assert choice.param is (None if spec.effect == "grant" else spec.asked_param)
    assert params_asked(spec.id) == tuple(param for param in spec.params if param.asked != "never")
    (row,) = [line for line in options_table().splitlines() if line.startswith(f"| `{spec.id}` |")]
    flags = {flag for each in answer_command().get_params(click.Context(answer_command())) for flag in each.opts}
    for param in spec.params:
        assert f"`--{param.name}`" in row
        assert f"--{param.name}" in flags
    assert (len(spec.reaches) > 1) == ("`--reach`" in row)
    assert spec.reach in spec.reaches
    assert offered.needs in ("", *(param.need for param in spec.params))


@pytest.mark.parametrize("spec", SURFACES, ids=lambda spec: spec.id)
def test_what_is_confirmed_says_what_it_does(spec: OptionSpec) -> None:
    writes = {"permission": "fs.write:/a.md", "arguments": {"path": "/a.md", "text": "a"}}
    stopped = replace(BROKEN_TOOL, rule_id="breakpoint")
    places = [opened_of(), opened_of(in_doubt=True), opened_of(action=writes)]
    places.append(replace(opened_of(action={"tool": "query"}), fault=stopped))
    asks = {confirmation_of(opened, spec.id, runs=runs) for opened in places for runs in (1, 2)} - {None}
    assert asks == set(spec.confirm)
    told = [consequence_text(spec.id, case) for case in spec.confirm]
    assert all(told)
    assert "{" not in "".join(told)
    assert len([param for param in spec.params if param.asked == "everywhere"]) <= 1, "a prompt asks for one"


def answer_command() -> click.Command:
    return present(cli.get_command(click.Context(cli), "answer"))


TYPED = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", " ", "0", "-1", "2.5", "1e400", "nan", "{}", '{"a": 1}', "[1]", "openai:o", "once", "7"]),
)
SCHEMAS = st.sampled_from([None, {"type": "integer"}, {"type": "string"}, {"enum": ["a", 7]}])


@given(spec=st.sampled_from(SURFACES), typed=TYPED, schema=SCHEMAS)
def test_what_the_form_accepts_the_link_accepts_and_the_reverse(
    spec: OptionSpec, typed: str, schema: dict[str, Any] | None
) -> None:
    opened = opened_of(question="which?", answer_schema=schema, result_schema=schema)
    opened = replace(opened, options=tuple(make_option(each.id) for each in SURFACES))
    choice = choices_of(spec)[0]
    param = choice.param
    sent = form = None
    try:
        sent = answer_params(choice, typed)
        form = check_params(opened, spec.id, sent, NOW)
    except ValueError:
        assert param is not None, "an option without parameters refuses nothing"
    if sent is not None:
        try:
            assert checked_params(opened, spec.id, sent) == form
        except InvalidCommand:
            assert form is None
    if form is None and param is not None and param.kind != "json":
        with pytest.raises(InvalidCommand):
            checked_params(opened, spec.id, {param.name: typed.strip() if param.kind != "text" else typed})


@given(spec=st.sampled_from(SURFACES), name=st.sampled_from(["value", "model", "for", "seconds", "colour"]))
def test_what_an_option_does_not_take_is_refused(spec: OptionSpec, name: str) -> None:
    if spec.param(name) is None:
        with pytest.raises(InvalidInput, match=f"does not take '{name}'"):
            check_params(opened_of(), spec.id, {name: "x"}, NOW)
