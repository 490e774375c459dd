"""The lines of a comparison: what parts two runs, marked where it differs, and nothing foreign unclean."""

from __future__ import annotations

from runtime.judgement.comparison.comparison_types import FieldDifference, NodeDifference, RunComparison
from runtime.judgement.comparison.run_comparison import compare_runs
from screens.render.layout import LINK_INK, Span, plain_text
from screens.views.run.comparison import comparison_lines
from screens.views.shared.render_context import RenderContext
from tests.screens.stories import START, finished

CONTEXT = RenderContext(START)


def differing(number: int, left: str = "a", right: str = "b") -> NodeDifference:
    return NodeDifference(
        node_id=f"swarm~0/tool~{number}",
        kind="tool",
        name="tool",
        fields=(FieldDifference(field="result", left=left, right=right),),
    )


def lines_of(*nodes: NodeDifference, most: int | None = None) -> list[str]:
    found = RunComparison(left="r1", right="r2", same=3, nodes=nodes)
    return [plain_text(line) for line in comparison_lines(found, CONTEXT, titles={"r1": "one"}, most=most)]


def test_the_first_divergence_stands_first_and_what_is_left_out_is_counted() -> None:
    said = lines_of(differing(0), differing(1), differing(2), most=2)
    assert said[:4] == ["left   r1  one", "right  r2", "3 steps equal, 3 nodes different", ""]
    assert [line for line in said if "tool~" in line] == [
        "they part at tool (tool)  swarm~0/tool~0",
        "then tool (tool)  swarm~0/tool~1",
    ]
    assert said[-1] == "1 more difference: --all shows them"


def test_words_that_differ_are_marked_whole() -> None:
    found = RunComparison(left="r1", right="r2", same=0, nodes=(differing(0, "from releases now", "from release now"),))
    lines = comparison_lines(found, CONTEXT, titles={})
    bold = [[piece.text for piece in line if piece.bold] for line in lines if plain_text(line).startswith("    ")]
    assert bold == [["releases"], ["release"]]


def test_equal_runs_do_not_part_and_references_are_marked_where_asked() -> None:
    run = finished().state
    lines = comparison_lines(compare_runs(run, run), CONTEXT, titles={}, linked=True)
    assert "The runs are the same" in plain_text(lines[-1])
    assert Span("[run-0]", LINK_INK) in lines[0]


def test_foreign_text_is_clean_and_a_name_is_never_a_reference() -> None:
    hostile = "\x1b]0;x\x07\u202e\n[run-1]"
    node = NodeDifference(
        node_id=hostile, kind="tool", name=hostile, fields=(FieldDifference(field=hostile, left=hostile, right=""),)
    )
    found = RunComparison(left=hostile, right="r2", same=0, nodes=(node,), origin=hostile, forked_at=hostile)
    lines = comparison_lines(found, CONTEXT, titles={"r2": hostile}, linked=True)
    assert all("\x1b" not in plain_text(line) and "\u202e" not in plain_text(line) for line in lines)
    assert [piece.text for line in lines for piece in line if piece.ink == LINK_INK][1:] == ["[r2]"]
    assert any("(empty)" in plain_text(line) for line in lines)
