"""How far the context of a step travels: bounds, so that the walk through an attempt does not grow unseen."""

from __future__ import annotations

from pathlib import Path

from tests.runtime.execution.context_walk import Place, Source, Walker, walks


def test_an_attempt_is_followed_through_few_functions() -> None:
    walk = walks()["attempt"]
    names = {stop.place.name for stop in walk.stops}
    assert {"Attempt._call", "check_gates", "handle_failure", "find_fallback", "StepExecution.finish"} <= names
    assert (walk.functions <= 15, walk.met <= 26, walk.files <= 5, walk.returns <= 6) == (True,) * 4, walk


def test_a_step_is_followed_through_few_functions() -> None:
    walk = walks()["step"]
    assert {"Attempt.run", "apply_answer", "check_gates"} <= {stop.place.name for stop in walk.stops}
    assert (walk.functions <= 29, walk.met <= 54, walk.files <= 7, walk.returns <= 20) == (True,) * 4, walk


def test_what_hands_the_context_on_is_counted_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "step.py").write_text(
        "class Owner:\n"
        "    @property\n"
        "    def name(self): return ''\n"
        "    def end(self): self.write()\n"
        "    def write(self): pass\n"
    )
    (tmp_path / "runtime" / "walk.py").write_text(
        "from runtime import gates\n"
        "from runtime.step import Owner\n"
        "class Try:\n"
        "    def __init__(self, owner: Owner): self.owner = owner\n"
        "    def run(self):\n"
        "        kept = self.owner\n"
        "        self.again()\n"
        "        for gate in GATES:\n"
        "            gate(1, kept)\n"
        "        gates.other(kept.name)\n"
        "    def again(self): self.owner.end()\n"
        "def begin(owner):\n"
        "    owner.end()\n"
        "    return Try(owner).run()\n"
        "def one(number, owner): gates.check(number, owner=owner)\n"
        "def two(number, owner): begin(owner)\n"
        "GATES = (one, two)\n"
    )
    (tmp_path / "runtime" / "gates.py").write_text("def check(number, owner): pass\ndef other(name): pass\n")
    walk = Walker(Source(tmp_path), Place("runtime.step", "Owner")).walk(Place("runtime.walk", "begin"), "owner")
    assert [(stop.place.name, stop.depth) for stop in walk.stops] == [
        ("begin", 0), ("Owner.end", 1), ("Owner.write", 2), ("Try.run", 1), ("Try.again", 2), ("Owner.end", 3),
        ("one", 2), ("check", 3), ("two", 2), ("begin", 3),
    ]  # fmt: skip
    assert (walk.functions, walk.met, walk.files, walk.returns) == (8, 10, 3, 4)
