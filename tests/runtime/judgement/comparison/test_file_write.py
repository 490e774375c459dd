"""What a call that writes a file would change there."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.judgement.comparison.file_write import MAX_BYTES, WrittenText, compare_write, written_text

PATH = "/srv/report.md"


def written(text: str) -> WrittenText:
    return WrittenText(PATH, "text", text)


@pytest.mark.parametrize("name", ["text", "content", "contents", "data"])
def test_a_permission_to_write_a_file_with_a_text_is_one(name: str) -> None:
    action = {"permission": f"fs.write:{PATH}", "arguments": {"path": "report.md", name: "new\n"}}
    assert written_text(action) == WrittenText(PATH, name, "new\n")


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"permission": "fs.read:/srv/report.md", "arguments": {"text": "x"}},
        {"permission": "net:example.org:443", "arguments": {"text": "x"}},
        {"permission": "fs.write:/srv/report.md", "arguments": {"text": 7}},
        {"permission": "fs.write:/srv/report.md", "arguments": "x"},
        {"permission": "fs.write:/srv/report.md"},
        {"permission": None, "arguments": {"text": "x"}},
    ],
)
def test_other_actions_are_not(action: dict[str, Any]) -> None:
    assert written_text(action) is None


def test_a_file_that_is_not_there_is_new_and_all_of_the_text_comes() -> None:
    found = compare_write(written("one\ntwo\n"), None)
    assert (found.state, found.lines_after, found.bytes_after, found.rows) == ("new", 2, 8, ("+one", "+two"))


def test_of_a_file_that_is_there_what_changes_is_told() -> None:
    found = compare_write(written("a\nc\nz\n"), b"a\nb\nz\n", size=6)
    assert (found.state, found.lines_before, found.lines_after, found.bytes_before) == ("there", 3, 3, 6)
    assert found.rows == ("@@ -1,3 +1,3 @@", " a", "-b", "+c", " z")


def test_lines_that_look_like_the_head_of_a_difference_are_not_taken_for_it() -> None:
    found = compare_write(written("a\n"), b"a\n-- b\n++ c\n", size=12)
    assert [row for row in found.rows if row.startswith("-")] == ["--- b", "-++ c"]


@pytest.mark.parametrize(
    ("before", "text", "state"),
    [
        (b"same\n", "same\n", "same"),
        (b"\xff\xfe", "x", "not text"),
        (b"a\0b", "x", "not text"),
        (b"x" * (MAX_BYTES + 1), "x", "too large"),
        (b"x", "x" * (MAX_BYTES + 1), "too large"),
        (b"x\n" * 5_000, "x", "too large"),
    ],
)
def test_what_cannot_be_compared_says_so(before: bytes, text: str, state: str) -> None:
    found = compare_write(written(text), before, size=len(before))
    assert (found.state, found.rows) == (state, ())
    assert bool(found.detail) is (state != "same")


def test_the_version_tells_one_content_from_another() -> None:
    contents = (b"a", b"b", b"", None)
    assert len({compare_write(written("x"), each).version for each in contents}) == len(contents)
