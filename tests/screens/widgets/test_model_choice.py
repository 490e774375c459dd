"""A retry with another model: those that the run knows are a list, and any other is typed."""

from __future__ import annotations

from runtime.judgement.reports.explanation.explain import explain
from screens.views.decisions.prompt_choices import explained_choices, prompt_choices
from screens.views.shared.render_context import RenderContext
from tests.console.app.console_bench import answers, console, pressed, text_of
from tests.screens.stories import RATE_LIMITED, START, Story
from tests.screens.waiting import press, until


def limited(*models: str) -> Story:
    """`researcher` is rate limited; before it each of `models` answered."""
    story = Story("run-8", "survey")
    root = story.begin()
    agent = story.open("agent", "researcher", root)
    for at, model in enumerate(models):
        story.wait(1).end(story.start("llm", model, agent, at), "done")
    call = story.wait(1).start("llm", "openai:gpt-4o", agent, len(models))
    story.park(call, RATE_LIMITED, action={"model": "openai:gpt-4o"})
    return story


def models_of(story: Story) -> list[tuple[str, str]]:
    return [(each.name, each.why) for each in explain(story.state.open_incidents[0], story.state).models]


def test_the_run_knows_the_models_that_answered_and_those_that_were_chosen() -> None:
    story = limited("openai:gpt-4o", "anthropic:claude-sonnet-4-5", "openai:gpt-4o-mini", "anthropic:claude-sonnet-4-5")
    known = [("anthropic:claude-sonnet-4-5", "answered in this run"), ("openai:gpt-4o-mini", "answered in this run")]
    assert models_of(story) == known
    first = story.state.open_incidents[0].opened
    story.answer(first.incident_id, "switch_model", model="openai:o4-mini")
    story.wait(1).park(first.node_id, RATE_LIMITED, action={"model": "openai:gpt-4o"})
    assert models_of(story) == [*known, ("openai:o4-mini", "was chosen in this run before")]


def test_models_of_members_that_have_not_begun_and_declared_fallbacks_are_known_too() -> None:
    story = limited("anthropic:claude-sonnet-4-5")
    (root,) = story.state.roots
    story.state.nodes[root].info.update(
        models=["openai:gpt-4o", "anthropic:claude-sonnet-4-5", "groq:x", 7], fallbacks={"openai:gpt-4o": ["openai:o3"]}
    )
    assert models_of(story) == [
        ("anthropic:claude-sonnet-4-5", "answered in this run"),
        ("groq:x", "a model of this swarm"),
        ("openai:o3", "a model of this swarm"),
    ]


def test_of_a_tool_no_models_are_known() -> None:
    story = limited("anthropic:claude-sonnet-4-5")
    opened = story.state.open_incidents[0].opened
    story.answer(opened.incident_id, "retry")
    call = story.wait(1).start("tool", "fetch", opened.parent_id, 9)
    story.park(call, RATE_LIMITED, action={"tool": "fetch"})
    assert models_of(story) == []


def test_a_hostile_name_is_cleaned_and_sent_as_it_is() -> None:
    story = limited("openai:a\x1b[2J")
    incident = story.state.open_incidents[0]
    context = RenderContext(START)
    told = explain(incident, story.state)
    (choice,) = [
        one for one in explained_choices(prompt_choices(incident.opened, context), told, context) if one.takes_model
    ]
    assert choice.param is not None
    assert choice.param.choices[0].value == "openai:a\x1b[2J"
    assert choice.param.choices[0].words.isprintable()


async def test_a_model_is_chosen_from_the_list() -> None:
    async with console(limited("anthropic:claude-sonnet-4-5"), run_id="run-8") as (pilot, link):
        await pressed(pilot, "m", then="1 anthropic:claude-sonnet-4-5 · answered in this run")
        await pilot.press("1", "enter")
        await until(pilot, lambda: answers(link) == [("switch_model", {"model": "anthropic:claude-sonnet-4-5"})])


async def test_another_model_is_typed_below_the_list() -> None:
    async with console(limited("anthropic:claude-sonnet-4-5"), run_id="run-8") as (pilot, link):
        await pressed(pilot, "m", then="2 another: type its name")
        await press(pilot, "2", "enter", then="as provider:model")
        await press(pilot, *"groq:x", "enter", then=lambda: answers(link) == [("switch_model", {"model": "groq:x"})])


async def test_a_provider_whose_key_the_runtime_has_is_in_the_list_and_its_model_is_typed() -> None:
    async with console(limited(), run_id="run-8") as (pilot, link):
        link.keys = ("ANTHROPIC_API_KEY",)
        await pressed(pilot, "m", then="1 anthropic: · its key is there; you name the model")
        assert "groq" not in text_of(pilot), "without a key"
        await press(pilot, "1", "enter", then="as provider:model")
        await pilot.press(*"claude-haiku-4-5", "enter")
        await until(pilot, lambda: answers(link) == [("switch_model", {"model": "anthropic:claude-haiku-4-5"})])


async def test_where_the_run_knows_no_other_model_the_name_is_typed() -> None:
    async with console(limited(), run_id="run-8") as (pilot, link):
        await pressed(pilot, "m", then="as provider:model")
        await press(pilot, *"groq:x", "enter", then=lambda: answers(link) == [("switch_model", {"model": "groq:x"})])


async def test_a_name_that_would_be_refused_is_said_in_the_field_and_a_letter_in_the_list_begins_it() -> None:
    async with console(limited("anthropic:claude-sonnet-4-5"), run_id="run-8") as (pilot, link):
        await pressed(pilot, "m", then="2 another: type its name")
        await press(pilot, *"antropic:x", "enter", then="did you mean 'anthropic:x'?")
        assert "antropic:x" in text_of(pilot)
        assert answers(link) == []
