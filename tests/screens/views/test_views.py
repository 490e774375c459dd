"""Inbox, list of runs and tree, without a terminal; and the gate that hostile text meets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from runtime.judgement.reports.incident_report import build_report
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Summary
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.render.layout import (
    Span,
    Spans,
    empty_columns,
    fit_columns,
    plain_text,
    set_line,
)
from screens.render.tree_outline import outline
from screens.views.decisions.prompt import (
    title_line,
)
from screens.views.decisions.prompt_lines import PromptContent, question_lines
from screens.views.lists import runs
from screens.views.lists.inbox import inbox_rows
from screens.views.lists.runs import (
    RUN_COLUMNS,
    head_line,
    node_counts,
    outcome_lines,
    run_row,
    title_of,
)
from screens.views.lists.swarms import SWARM_COLUMNS, swarm_rows
from screens.views.run.node import node_lines
from screens.views.run.report import answer_lines, report_lines, traceback_lines
from screens.views.run.sparkline import TokenTrends
from screens.views.run.tree import NODE_COLUMNS, RunTree
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_filter import RowFilter, filter_rows
from tests.screens.stories import BROKEN_TOOL, MISSING, START, Story, digest, finished, summaries_of, waiting_of
from tests.screens.views.story_views import HOSTILE, at, payload, texts, words

NEED = "fs.write:/data/out/digest.md"


# -- inbox -----------------------------------------------------------------------------------------------------


def test_the_inbox_has_what_needs_a_decision_first_then_work_then_what_is_done() -> None:
    waiting, done = digest(), finished()
    rows = inbox_rows(summaries_of(waiting, done), waiting_of(waiting, done), at(waiting))
    assert texts(rows) == [
        " Needs a decision  1",
        f"◆ needs you | weekly digest | asks permission · write_file · {NEED} |  |  | 3m",
        "",
        " Working  1",
        "● running | weekly digest | 1 needs you · 1 running · 3 done | 3.3k | $0.02 | 3m",
        "",
        " Done  1",
        "✓ completed | translate manual | 3 done | 29k | $0.31 | 3h",
    ]
    assert [row.key for row in rows if not row.heading] == ["incident:run-1-inc-1", "run:run-1", "run:run-0"]


def test_the_inbox_says_who_proposes_which_answer() -> None:
    (found,) = waiting_of(story := digest())
    proposed = msgspec.structs.replace(found, proposed="retry", proposed_by="Claude Code (ada)")
    rows = inbox_rows(summaries_of(story), [proposed], at(story))
    assert texts(rows)[1] == (
        f"◆ needs you | weekly digest | Claude Code: retry? · asks permission · write_file · {NEED} |  |  | 3m"
    )


def test_a_run_that_only_waits_for_decisions_stands_there_and_not_among_those_at_work_too() -> None:
    waiting, later = digest(), Story("run-2", "later", START)
    later.begin()
    waiting.tell(ev.RunParked(reason="waiting"))
    later.tell(ev.RunParked(reason="waiting", wake_at=waiting.at + timedelta(seconds=90)))
    rows = inbox_rows(summaries_of(waiting, later), waiting_of(waiting, later), at(waiting))
    assert [row.key for row in rows if not row.heading] == ["incident:run-1-inc-1", "run:run-2"]
    assert [text for text in texts(rows) if "  1" in text[-4:]] == [" Needs a decision  1", " Working  1"]
    waiting.answer("run-1-inc-1", "deny")
    rows = inbox_rows(summaries_of(waiting, later), waiting_of(waiting, later), at(waiting))
    assert {row.key for row in rows if not row.heading} == {"run:run-1", "run:run-2"}


def test_rows_out_of_sight_have_no_cells_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    real = runs._run_cells

    def counted(summary: Summary, *given: Any) -> tuple[Spans, ...]:
        made.append(summary.id)
        return real(summary, *given)

    monkeypatch.setattr(runs, "_run_cells", counted)
    done = {f"r{number}": Summary(f"r{number}", title="t", state="completed", input_tokens=7) for number in range(9)}
    rows = inbox_rows(done, [], RenderContext(START))
    assert empty_columns(RUN_COLUMNS, rows) == {4}
    assert made == []
    assert rows[1].cells[1:2] == (rows[1].cells[1],)
    assert made == [rows[1].key.removeprefix("run:")]


def test_groups_that_are_empty_have_no_heading() -> None:
    assert inbox_rows({}, [], RenderContext(START)) == []
    done = finished()
    assert texts(inbox_rows(summaries_of(done), [], at(done)))[0] == " Done  1"


def test_a_run_without_a_title_is_called_after_its_reference_and_the_end_of_its_id() -> None:
    story = Story("261121-084343-3fk9", title="")
    story.begin()
    story.state.input = ""
    row = run_row(story.state.summary(), at(story))
    assert row.cells[1] == (Span("digest.py:swarm", "ink-strong"), Span(" 3fk9", "ink-muted"))
    assert row.values[1] == title_of(story.state.summary(), at(story)) == "digest.py:swarm 3fk9"
    unnamed = Summary("261121-084343-3fk9")
    assert plain_text(run_row(unnamed, at(story)).cells[1]) == unnamed.id, "nothing else is known of it yet"


@pytest.mark.parametrize("task", ["", "Plan three days in Basel, with a visit of the museums"])
@pytest.mark.parametrize("width", [60, 78, 118])
def test_runs_with_one_title_are_told_apart_at_every_width_and_by_the_filter(width: int, task: str) -> None:
    ref = "/work/長い名前.py:incident_triage_swarm"
    known = {run_id: Summary(run_id, ref, input=task) for run_id in ("261121-084343-3fk9", "261121-084343-x7mq")}
    context = RenderContext(START)
    for columns, rows in (
        (RUN_COLUMNS, inbox_rows(known, [], context)),
        (SWARM_COLUMNS, swarm_rows(known, context, TokenTrends())),
    ):
        found = [row for row in filter_rows(rows, "x7mq") if row.key.startswith("run:")]
        assert [row.key for row in found] == ["run:261121-084343-x7mq"]
        assert " x7mq " in plain_text(set_line(columns, fit_columns(columns, width), found[0].cells))


def test_a_decision_of_an_untitled_run_names_its_swarm_and_the_end_of_its_id() -> None:
    story = digest()
    story.state.title = story.title = ""
    rows = inbox_rows(summaries_of(story), waiting_of(story), at(story))
    asks = next(row for row in rows if not row.heading)
    assert plain_text(asks.cells[1]) == "digest.py:swarm un-1"
    assert plain_text(inbox_rows({}, waiting_of(story), at(story))[1].cells[1]) == "run-1"


def test_a_failed_run_says_why_and_a_parked_one_when_it_goes_on() -> None:
    failed = finished()
    failed.state = DurableRun()
    failed.events.clear()
    failed.begin()
    failed.finish("failed", error="the planner gave up")
    assert plain_text(run_row(failed.state.summary(), at(failed)).cells[2]) == "the planner gave up"
    parked = Story()
    parked.begin()
    parked.tell(ev.RunParked(reason="waiting", wake_at=parked.at + timedelta(seconds=90)))
    assert "goes on in 1m31s" in plain_text(run_row(parked.state.summary(), at(parked)).cells[2])


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [
        ("", ["incident:run-1-inc-1", "run:run-1", "run:run-0"]),
        ("manual", ["run:run-0"]),
        ("MANUAL", []),
        ("^◆|compl", ["incident:run-1-inc-1", "run:run-0"]),
        ("!manual", ["incident:run-1-inc-1", "run:run-1"]),
        ("[", ["incident:run-1-inc-1", "run:run-1", "run:run-0"]),
        ("done weekly", ["run:run-1"]),
        ("!done weekly", ["incident:run-1-inc-1", "run:run-0"]),
        ("!", ["incident:run-1-inc-1", "run:run-1", "run:run-0"]),
    ],
)
def test_a_filter_keeps_what_it_means_under_its_heading(pattern: str, keys: list[str]) -> None:
    waiting, done = digest(), finished()
    rows = inbox_rows(summaries_of(waiting, done), waiting_of(waiting, done), at(waiting))
    kept = filter_rows(rows, pattern)
    assert [row.key for row in kept if not row.heading] == keys
    headings = [text for text in texts(kept) if text.startswith(" ")]
    assert len(headings) == len(keys)
    assert not kept or texts(kept)[0] == headings[0]
    assert bool(RowFilter(pattern).problem) is (pattern == "[")


# -- tree ------------------------------------------------------------------------------------------------------


def tree_text(story: Story, glyphs: Any = UNICODE_GLYPHS) -> list[str]:
    tree = RunTree(story.state, at(story, glyphs))
    found = []
    for line in outline(tree, {}, glyphs=glyphs):
        row = tree.row(line.key)
        assert len(row.cells) == len(NODE_COLUMNS)
        found.append(
            " | ".join(
                [line.rails + ("▸" if line.folded else "") + plain_text(row.cells[0]), *map(plain_text, row.cells[1:])]
            )
        )
    return found


def test_the_tree_shows_state_attempts_time_and_tokens_and_folds_what_is_done() -> None:
    assert tree_text(digest()) == [
        "● weekly_digest swarm | running |  | 3m | ",
        "├ ▸✓ planner | done |  | 3.0s | ",
        "└ ● researcher | running |  | 3m | ",
        "  ├ ✓ openai:gpt-4o model | done | ×2 | 5.0s | 2.4k",
        "  ├ ● search_releases | running |  | 3m | ",
        "  └ ◆ write_file | needs you 3m |  | 3m | ",
    ]


def test_the_tree_in_ascii() -> None:
    assert tree_text(digest(), ASCII_GLYPHS)[-1] == "  `-? write_file | needs you 3m |  | 3m | "


def test_a_retry_counts_down() -> None:
    story = Story()
    call = story.start("llm", "m", story.open("agent", "a", story.begin()))
    story.retry(call, 30)
    assert tree_text(story.wait(12))[-1].split(" | ")[1] == "retries in 19s"
    assert tree_text(story.wait(60))[-1].split(" | ")[1] == "retries now"


def test_failed_parts_stay_unfolded_and_recorded_values_are_hidden_unless_somebody_is_asked() -> None:
    story = Story()
    root = story.begin()
    agent = story.open("agent", "a", root)
    story.start("value", "instructions", agent, 0)
    asked = story.start("value", "ask_human", agent, 1)
    story.park(asked, MISSING, question="Which quarter?")
    story.start("tool", "look", agent, 2)
    story.close(agent, "failed", error="gave up")
    lines = tree_text(story)
    assert [line.split(" | ")[0] for line in lines] == [
        "● weekly_digest swarm",
        "└ ✗ a",
        "  ├ ⊘ ask_human question",
        "  └ ⊘ look",
    ]


def test_the_shape_of_a_tree_changes_only_when_lines_can() -> None:
    story = digest()
    shape = RunTree(story.state, at(story)).shape()
    assert RunTree(story.state, at(story.wait(10))).shape() == shape
    story.end(next(key for key in story.state.nodes if "search_" in key), "[]")  # a call holds nothing: it never folds
    assert RunTree(story.state, at(story)).shape() == shape
    story.close(next(node.id for node in story.state.nodes.values() if node.kind == "agent" and not node.terminal))
    assert RunTree(story.state, at(story)).shape() != shape


def test_a_deep_tree_needs_no_recursion() -> None:
    story = Story()
    node = story.begin()
    for depth in range(3000):
        node = f"n{depth}"
        story.tell(ev.NodeOpened(kind="group", name=node), node, f"n{depth - 1}" if depth else story.state.roots[0])
    assert len(outline(RunTree(story.state, at(story)), {})) == 3001


def test_a_nodes_detail_tells_what_went_in_and_what_came_out() -> None:
    story = digest()
    found = words(
        node_lines(
            story.state, next(key for key in story.state.nodes if "gpt-4o~0" in key and "rese" in key), at(story)
        )
    )
    assert found[:3] == ["openai:gpt-4o", "weekly_digest › researcher › openai:gpt-4o", "✓ done · model"]
    assert "attempts  2 attempts" in found
    assert "tokens    2104 in, 310 out" in found
    assert '  "messages": 2' in found
    assert words(node_lines(story.state, "nobody", at(story))) == ["No node is selected."]


def test_a_run_in_one_line_and_its_outcome() -> None:
    story = finished()
    assert plain_text(head_line(story.state, at(story))) == "✓ completed · 12s · 3 done · 29k tokens · $0.31"
    assert words(outcome_lines(story.state, at(story))) == [
        "Result",
        "Bonjour",
        "",
        "Task",
        "Translate the manual to French.",
    ]
    assert [plain_text(found) for found in node_counts({"running": 2, "pending": 3})] == ["2 running"]


# -- the gate --------------------------------------------------------------------------------------------------


@dataclass
class Seen:
    text: str


@pytest.mark.parametrize("found", HOSTILE, ids=lambda found: found["id"])
def test_no_view_lets_hostile_text_through(found: dict[str, Any]) -> None:
    """Every string that a model, a tool or a user's file can fill is filled."""
    bad = payload(found)
    story = Story(title=bad)
    root = story.open("swarm", bad, story.begin(bad))
    tool = story.start("tool", bad, root, agent=bad, text=bad)
    fault = msgspec.structs.replace(BROKEN_TOOL, technical=bad, metadata={"a": bad}, suggestions=(bad,), provider=bad)
    story.park(
        tool, fault, message=bad, action={"tool": bad, "arguments": {bad: bad}}, question=bad, task=bad, traceback=bad
    )
    story.tell(ev.Warned(text=bad), tool, root)
    incident = story.state.open_incidents[0]
    story.analyse(incident.opened.incident_id, bad, bad)
    context = at(story)
    tree = RunTree(story.state, context)
    lines = [
        *(cell for row in inbox_rows(summaries_of(story), waiting_of(story), context) for cell in row.cells),
        *(cell for line in outline(tree, {}) for cell in tree.row(line.key).cells),
        *node_lines(story.state, tool, context),
        *outcome_lines(story.state, context),
        *report_lines(build_report(story.state, incident.opened), context),
        *traceback_lines(build_report(story.state, incident.opened), context),
        *question_lines(PromptContent(incident.opened), context),
        title_line(incident.opened, context),
        head_line(story.state, context),
    ]
    story.answer(incident.opened.incident_id, "abort", who=bad, text=bad)
    lines += answer_lines(incident, context)
    for line in lines:
        text = plain_text(line)
        assert "\n" not in text
        assert all(char.isprintable() for char in text), ascii(text)[:200]
