"""The chain of causes that an incident shows."""

from __future__ import annotations

from runtime.execution.incidents import error_chain


def test_it_is_the_chain_of_the_traceback_each_text_once_in_a_row() -> None:
    assert error_chain(None) == []
    try:
        try:
            try:
                raise KeyError("cut off")
            except KeyError:
                raise OSError("disk") from None
        except OSError as exc:
            raise OSError("disk") from exc
    except OSError as exc:
        outer = ExceptionGroup("two", [ValueError("one"), ValueError("other")])
        outer.__cause__ = exc
    assert error_chain(outer) == [
        "ExceptionGroup: two (2 sub-exceptions)",
        "ValueError: one",
        "ValueError: other",
        "OSError: disk",
    ]


def test_it_is_bounded_in_links_and_in_characters() -> None:
    found = error_chain(ExceptionGroup("many", [ValueError(f"{number}" * 2000) for number in range(100)]))
    assert len(found) == 12
    assert max(map(len, found)) == 500
