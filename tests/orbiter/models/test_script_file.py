from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from orbiter.models.scripted.replies import (
    Call,
    Fault,
    Reply,
    Script,
)
from orbiter.models.scripted.script_file import load_script, parse_scripts
from orbiter.models.types import ModelError
from orbiter.types import Usage


def turns(text: str) -> Any:
    (found,) = parse_scripts(text, where="s.yaml").values()
    return found._turns


def test_every_form_of_a_turn() -> None:
    assert turns(
        """
        turns:
          - Just text
          - reply: With thoughts
            reasoning: Hm
            delay: 0.5
            pace: 0.1
            finish_reason: length
            usage: {input_tokens: 3, output_tokens: 4, cached_tokens: 1}
          - call: read_file
            arguments: {path: a.txt, lines: [1, 2]}
            id: c1
          - reply: Both
            calls:
              - {name: one}
              - {name: two, arguments: '{"broken":'}
          - fault: 429
          - attempts:
              - fault: {status: 429, headers: {retry-after: 1}, message: Slow, type: tokens, code: rate_limit}
              - fault: {kind: stream, text: One two, after: 1, body: {error: {message: Overloaded}}}
              - fault: {kind: silence, seconds: 2}
              - done
        """
    ) == [
        Reply("Just text"),
        Reply(
            "With thoughts",
            calls=(),
            reasoning="Hm",
            delay=0.5,
            pace=0.1,
            finish_reason="length",
            usage=Usage(input_tokens=3, output_tokens=4, total_tokens=7, cached_tokens=1),
        ),
        Reply(calls=(Call("read_file", {"path": "a.txt", "lines": [1, 2]}, "c1"),)),
        Reply("Both", calls=(Call("one"), Call("two", '{"broken":'))),
        Fault(429),
        [
            Fault(429, headers={"retry-after": "1"}, message="Slow", type="tokens", code="rate_limit"),
            Fault(kind="stream", text="One two", after=1, body={"error": {"message": "Overloaded"}}),
            Fault(kind="silence", seconds=2.0),
            Reply("done"),
        ],
    ]


def test_settings_of_a_script() -> None:
    (found,) = parse_scripts("since: question\nrepeat: true\nturns: [x]").values()
    assert (found._since, found._repeat) == ("question", True)


def test_several_scripts_in_one_file(tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    file.write_text("scripts:\n  a: [one]\n  b: {turns: [two], repeat: true}\n")
    assert load_script(str(file), "a")._turns == [Reply("one")]
    assert load_script(str(file), "b")._repeat
    with pytest.raises(ModelError, match="No script 'c'") as caught:
        load_script(str(file), "c")
    assert f"{file}#b" in str(caught.value.hint)
    with pytest.raises(ModelError, match="which one"):
        load_script(str(file))


@pytest.mark.timeout(10)
def test_a_script_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.yaml")
    with pytest.raises(ModelError, match=r"Cannot read script file '.*s\.yaml': .*s\.yaml is a pipe, not a file"):
        load_script(str(tmp_path / "s.yaml"))


def test_a_missing_file_says_where_it_was_looked_for() -> None:
    with pytest.raises(ModelError, match=r"Cannot read script file 'nowhere/s\.yaml'") as caught:
        load_script("nowhere/s.yaml")
    assert str(Path("nowhere/s.yaml").resolve()) in str(caught.value.hint)
    assert isinstance(caught.value.__cause__, FileNotFoundError)


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("turns:\n  - replay: x", 2, "unknown key 'replay' in a turn", "Did you mean 'reply'?"),
        ("turns:\n  - fault: {stats: 3}", 2, "unknown key 'stats' in a fault", "Did you mean 'status'?"),
        ("turns:\n  - x\nrepaet: true", 3, "unknown key 'repaet' in the file", "Did you mean 'repeat'?"),
        ("- x\n- fault: {kind: silent}", 2, "unknown kind 'silent'", "Did you mean 'silence'?"),
        ("- fault: 42", 1, "from 100 to 599", ""),
        ("- fault: {status: maybe}", 1, "an HTTP status expected, not 'maybe'", ""),
        ("- fault: {message: x}", 1, "needs 'status' or 'kind'", ""),
        ("- fault: {kind: truncated, after: -1}", 1, "from 0 expected", ""),
        ("- {call: a, calls: [{name: b}]}", 1, "not both", ""),
        ("- {reply: x, arguments: {a: 1}}", 1, "need a 'call'", ""),
        ("- calls:\n  - {arguments: {}}", 2, "needs 'name'", ""),
        ("- {reply: x, delay: -1}", 1, "from 0 expected", ""),
        ("- {reply: x, pace: .inf}", 1, "from 0 expected", ""),
        ("- {reply: x, reply: y}", 1, "'reply' is given twice", ""),
        ("- reply: [x]", 1, "a text expected, not ['x']", ""),
        ("- {fault: 500, reply: x}", 1, "'fault' stands alone", ""),
        ("- attempts: []", 1, "must not be empty", ""),
        ("- attempts:\n  - attempts: [x]", 2, "cannot stand inside", ""),
        ("[]", 1, "must not be empty", ""),
        ("scripts: {}", 1, "'scripts' must not be empty", ""),
        ("", 1, "is empty", ""),
        ("repeat: true", 1, "needs 'turns'", ""),
        ("- x\n- {reply", 2, "not valid YAML", ""),
        ("since: begin\nturns: [x]", 1, "unknown since 'begin'", ""),
        ("scripts: {a: [x]}\nrepeat: true", 1, "stands alone", ""),
        ("- {reply: x, usage: {tokens: 3}}", 1, "unknown key 'tokens' in usage", ""),
        ("- delay: 3", 1, "needs 'reply'", ""),
        ("42", 1, "must be a mapping", ""),
        ("- {call: f, arguments: {day: 2026-01-01}}", 1, "arguments must be JSON", "quotes"),
    ],
)
def test_mistakes_name_file_line_and_key(text: str, line: int, message: str, hint: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse_scripts(text, where="s.yaml")
    assert f"s.yaml:{line}: " in str(caught.value)
    assert message in str(caught.value)
    assert hint in str(caught.value.hint)
    assert caught.value.code == "invalid_script"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "turns",
                    "scripts",
                    "reply",
                    "call",
                    "calls",
                    "fault",
                    "attempts",
                    "arguments",
                    "status",
                    "kind",
                    "usage",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


def assert_script_or_mistake(text: str) -> None:
    mistake: ModelError | None = None
    found: dict[str, Script] = {}
    try:
        found = parse_scripts(text, where="s.yaml")
    except ModelError as error:
        mistake = error
    assert found or (mistake is not None and mistake.code == "invalid_script" and "s.yaml:" in str(mistake))


@given(_JSON)
def test_whatever_the_file_holds_it_is_a_script_or_an_error_of_ours(data: Any) -> None:
    assert_script_or_mistake(yaml.safe_dump(data))


@given(st.text())
def test_any_text_is_a_script_or_an_error_of_ours(text: str) -> None:
    assert_script_or_mistake(text)


_REPLIES = st.builds(
    Reply,
    text=st.text(max_size=20),
    calls=st.lists(
        st.builds(Call, st.text(max_size=5), st.dictionaries(st.text(max_size=3), st.integers())),
        min_size=1,
        max_size=3,
    ).map(tuple),
)


@given(st.lists(_REPLIES, min_size=1, max_size=4))
def test_what_is_written_is_what_is_read(replies: list[Reply]) -> None:
    written = [
        {"reply": reply.text, "calls": [{"name": call.name, "arguments": call.arguments} for call in reply.calls]}
        for reply in replies
    ]
    assert turns(yaml.safe_dump(written)) == replies
