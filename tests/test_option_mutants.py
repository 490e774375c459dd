"""Each entry of the table of options has mutants (`python -m tests.option_mutants`)."""

from __future__ import annotations

from runtime.judgement.recovery.option_table import OPTIONS
from tests.option_mutants import mutants


def test_each_field_of_each_option_has_a_mutant() -> None:
    """mutmut made none of the table, and nothing said so."""
    found = {name.partition(" ")[0]: mutant for name, mutant in mutants("")}
    wanted = {
        f"{spec.id}.{name}"
        for spec in OPTIONS.values()
        for name in spec.__struct_fields__
        if getattr(spec, name) not in (None, ())
    }
    assert set(found) == wanted
    assert all(mutant != OPTIONS[name.partition(".")[0]] for name, mutant in found.items())
