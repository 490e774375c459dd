"""What is read off the text of an error."""

from __future__ import annotations

import pytest

from runtime.judgement.reports.explanation.error_text import errno_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[Errno 111] Connection refused", ("Connection refused", "111")),
        ("<urlopen error [Errno 111] Connection refused>", ("Connection refused", "111")),
        ("it went wrong", ("", "")),
    ],
)
def test_the_words_and_the_number_of_the_operating_system(text: str, found: tuple[str, str]) -> None:
    assert errno_in(text) == found
