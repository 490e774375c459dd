"""The flow DSL: grammar, order, exact error texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter._internal.graph import Graph, GraphError, parse_flow_dsl, parse_flow_stages, topological_sort
from orbiter.errors import OrbiterError


def test_a_chain() -> None:
    graph = parse_flow_dsl("a >> b >> c")
    assert graph.nodes == ["a", "b", "c"]
    assert graph.edges == [("a", "b"), ("b", "c")]
    assert topological_sort(graph) == ["a", "b", "c"]


def test_a_group_is_joined_to_all_of_the_next_stage_and_its_members_are_kept_as_written() -> None:
    graph = parse_flow_dsl("start >> (z | b) >> end")
    assert set(graph.edges) == {("start", "z"), ("start", "b"), ("z", "end"), ("b", "end")}
    assert topological_sort(graph) == ["start", "b", "z", "end"]
    # The original knew groups no more once the flow was parsed, and ran their members one after another.
    assert graph.stages == [("start",), ("z", "b"), ("end",)]


@pytest.mark.parametrize(
    ("dsl", "stages"),
    [
        ("only", [("only",)]),
        ("(a)", [("a",)]),
        ("(a | b)", [("a", "b")]),
        ("  two words >>b ", [("two words",), ("b",)]),
        ("a | b", [("a | b",)]),
        ("a -> b", [("a -> b",)]),
    ],
)
def test_stages(dsl: str, stages: list[tuple[str, ...]]) -> None:
    assert parse_flow_stages(dsl) == stages


@pytest.mark.parametrize(
    ("dsl", "text"),
    [
        ("", "Empty flow DSL"),
        (" \n ", "Empty flow DSL"),
        (">>", "Malformed flow DSL: '>>'"),
        ("a >>", "Malformed flow DSL: 'a >>'"),
        (">> a", "Malformed flow DSL: '>> a'"),
        ("a >> >> b", "Malformed flow DSL: 'a >> >> b'"),
        ("(a | b", "Malformed flow DSL: '(a | b'"),
        ("((a | b) | c)", "Malformed flow DSL: '((a | b) | c)'"),
        ("(a | a)", "Malformed flow DSL: '(a | a)'"),
        ("(a||b)", "Empty member in parallel group: '(a||b)'"),
        ("()", "Empty member in parallel group: '()'"),
    ],
)
def test_a_malformed_flow_is_refused_with_the_text_and_a_way_out(dsl: str, text: str) -> None:
    with pytest.raises(GraphError) as caught:
        parse_flow_dsl(dsl)
    assert str(caught.value) == text
    assert caught.value.hint
    assert not issubclass(GraphError, OrbiterError)


@pytest.mark.parametrize("dsl", ["a >> a", "a >> b >> a", "(a | b) >> c >> b"])
def test_a_repeated_name_is_a_cycle(dsl: str) -> None:
    with pytest.raises(GraphError, match=r"^Cycle detected in graph$"):
        topological_sort(parse_flow_dsl(dsl))


def test_a_graph_by_hand() -> None:
    graph = Graph()
    graph.add_node("z")
    graph.add_edge("b", "a")
    graph.add_edge("b", "a")
    assert graph.successors("b") == ["a"]
    assert graph.in_degree("a") == 1
    assert topological_sort(graph) == ["b", "a", "z"]
    for ask in (graph.successors, graph.in_degree):
        with pytest.raises(GraphError, match=r"^Unknown node: 'q'$"):
            ask("q")


names = st.text(alphabet="abcdefgh_- 9äß", min_size=1, max_size=8).map(str.strip).filter(bool)
flows = st.lists(st.lists(names, min_size=1, max_size=4), min_size=1, max_size=5).filter(
    lambda stages: len({name for stage in stages for name in stage}) == sum(map(len, stages))
)


@given(flows, st.booleans())
def test_what_is_written_is_what_is_read(stages: list[list[str]], spaced: bool) -> None:
    bar, arrow = (" | ", " >> ") if spaced else ("|", ">>")
    written = [f"({bar.join(stage)})" if len(stage) > 1 else stage[0] for stage in stages]
    graph = parse_flow_dsl(arrow.join(written))
    assert graph.stages == [tuple(stage) for stage in stages]
    order = topological_sort(graph)
    assert sorted(order) == sorted(graph.nodes)
    position = {name: index for index, name in enumerate(order)}
    assert all(position[source] < position[target] for source, target in graph.edges)
    assert order == [name for stage in stages for name in sorted(stage)]


@given(st.text(alphabet="ab()|> \n", max_size=20))
def test_any_text_is_read_or_refused(dsl: str) -> None:
    try:
        graph = parse_flow_dsl(dsl)
    except GraphError:
        return
    assert all(name and name == name.strip() for name in graph.nodes)
