"""The file that a call asks to write, read from a real disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orbiter.redaction import Redactor
from runtime.judgement.comparison.file_write import FileComparison, WrittenText
from runtime.operations.handlers.file_comparison import compare_with_disk


def compared(path: Path, text: str = "new\n", redactor: Redactor | None = None) -> FileComparison:
    return compare_with_disk(WrittenText(str(path), "text", text), redactor or Redactor())


def test_a_file_is_compared_with_the_text(tmp_path: Path) -> None:
    file = tmp_path / "report.md"
    file.write_text("old\n")
    found = compared(file)
    assert (found.state, found.bytes_before, found.rows) == ("there", 4, ("@@ -1 +1 @@", "-old", "+new"))
    file.write_text("new\n")
    assert compared(file).state == "same"


def test_a_file_that_is_not_there_is_new_also_below_a_folder_that_is_not(tmp_path: Path) -> None:
    assert compared(tmp_path / "report.md").state == "new"
    assert compared(tmp_path / "reports" / "deep" / "report.md").state == "new"


def test_what_is_not_an_ordinary_file_is_not_read_and_nothing_waits(tmp_path: Path) -> None:
    pipe, folder, link = tmp_path / "pipe", tmp_path / "folder", tmp_path / "link"
    os.mkfifo(pipe)
    folder.mkdir()
    link.symlink_to("/etc/hostname")
    for path in (pipe, folder, link):
        found = compared(path)
        assert (found.state, found.rows) == ("not readable", ()), path
        assert found.detail


def test_secrets_of_the_file_and_of_the_text_are_masked(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("ANTHROPIC_API_KEY=sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789\n")
    found = compared(file, "PASSWORD=hunter2hunter2\n", Redactor(("hunter2hunter2",)))
    shown = "\n".join(found.rows)
    assert "abcdefghijklmnop" not in shown
    assert "hunter2" not in shown


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all files")
def test_a_file_that_may_not_be_read_says_why(tmp_path: Path) -> None:
    file = tmp_path / "closed"
    file.write_text("x")
    file.chmod(0)
    assert compared(file).detail == "Permission denied"
