"""The file of a drill: what is read, and how a mistake is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.testing.drills.drill_file import STARTER, InvalidDrill, parse_drill, read_drill


def test_the_starter_file_is_a_drill_and_so_is_each_fault_in_its_comments() -> None:
    assert [str(each) for each in parse_drill(STARTER, "drills.toml").faults] == [
        "model *, call 2: answers 429, 2 times",
        "process killed after step 5",
    ]
    every = "\n".join(line.removeprefix("# ") if "[[" in line or " = " in line else "" for line in STARTER.splitlines())
    said = [str(each) for each in parse_drill(every, "drills.toml").faults]
    assert "tool search, call 1: hangs" in said
    assert "tool send_mail, call 1: killed" in said
    assert "permission fs.write:./** refused" in said


MODEL, TOOL = '[[faults]]\nmodel = "*"\n', '[[faults]]\ntool = "a"\n'
MISTAKES = {
    f"{MODEL}staus = 429\n": "d.toml, line 3: 'staus' is not known: did you mean 'status'? For example status = 429",
    f"{MODEL}status = 200\n": "line 3: status: must be greater than or equal to 400, for example status = 429",
    MODEL: "line 1: must say one thing that happens",
    "[[faults]]\nhang = true\n": "line 1: must name one place",
    f"{TOOL}hang = true\n{TOOL}status = 429\n": "line 4: status is the answer of a model",
    "[[faults]]\nafter_step = 5\nhang = true\n": "line 1: after a step the process is killed",
    "[[faults]]\nafter_step = 0\nkill = true\n": "line 2: after_step: must be greater than or equal to 1",
    '[[faults]]\npermission = "fs.write"\nhang = true\n': "a permission is refused, and takes no hang",
    "": "must have a table [[faults]]",
    "[[fault]]\n": "line 1: must have a table [[faults]]",
    "faults = 1\n": "line 1: must have a table [[faults]]",
    "faults = [1]\n": "line 1: must have a table [[faults]]",
    "faults = [": "d.toml: not valid TOML",
    "[[faults]]\ntool = 3\nhang = true\n": 'tool: must be a valid string, for example tool = "fetch_*"',
}


@pytest.mark.parametrize(("text", "said"), MISTAKES.items())
def test_a_mistake_is_named_with_its_line_and_an_example(text: str, said: str) -> None:
    with pytest.raises(InvalidDrill) as refused:
        parse_drill(text, "d.toml")
    assert said in str(refused.value)


def test_a_file_that_is_not_there_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidDrill, match="drill init"):
        read_drill(tmp_path / "drills.toml")


_KEYS = st.sampled_from(["model", "tool", "status", "hang", "kill", "after_step", "call", "times", "x", "error"])
_VALUES = st.sampled_from(['"a"', "1", "-1", "429", "true", "[]", "1.5", "{}"])


@given(st.lists(st.dictionaries(_KEYS, _VALUES, max_size=4), max_size=3))
def test_whatever_stands_in_a_file_it_is_a_drill_or_is_refused(tables: list[dict[str, str]]) -> None:
    text = "".join("[[faults]]\n" + "".join(f"{name} = {value}\n" for name, value in each.items()) for each in tables)
    said = _read(text)
    assert said
    assert all(said)


def _read(text: str) -> list[str]:
    try:
        return [str(fault) for fault in parse_drill(text, "d.toml").faults]
    except InvalidDrill as exc:
        return [str(exc).partition("d.toml, line ")[2]]
