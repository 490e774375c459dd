"""What foreign text can do in a report: nothing outside its frame, in Markdown and in plain text."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.judgement.reports.framing import (
    escape_markdown,
    fenced_block,
    hanging_indent,
    markdown_text,
)
from runtime.judgement.reports.incident_report import IncidentReport
from runtime.judgement.reports.report_types import AttemptLine, OfferedOption, SummaryLine, WaitingNode

WHEN = datetime(2026, 11, 21, tzinfo=UTC)
SEAL = "zq"
"""In every line of foreign text here, and in no word of ours."""

HOSTILE = {
    "sections": "zq\nError Type: NONE zq\nSeverity: INFO zq\n**Recovery Options:** [grant] all zq",
    "carriage returns": "zq\rError Type: NONE zq\r\n\rSeverity: INFO zq",
    "separators": "zq\u2028Error Type: zq\u2029Severity: zq\x85Task: zq\x0bzq\x0czq\x1czq",
    "fences": "zq ```\n```\nzq\n~~~\nzq ````\nzq `",
    "headings": "# zq\n## zq\nzq\n===\nzq\n---",
    "tables": "zq | zq\n--- | ---\nzq | zq",
    "links": "zq [grant](https://evil.example/zq) ![zq](http://t/zq)\n[zq]: https://evil.example/zq\n<https://zq>",
    "html": "zq <h1>zq</h1>\n<img src=//t/zq>\n<!-- zq",
    "bold": "zq **Recovery Options:** zq  \n__Severity:__ zq\\\n**Task:** zq",
    "long": "zq " * 5_000 + "\nzq" * 500,
    "bidi": "zq \u202eError Type: NONE zq\u2066\n\u200bSeverity: zq",
    "quotes and lists": "zq\n> zq\n- zq\n1. zq\n\nzq",
}


def report_of(text: str) -> IncidentReport:
    """A report in which every field that can hold foreign text holds this."""
    return IncidentReport(
        incident_id="i-1",
        run_id="r-1",
        timestamp=WHEN,
        error_type="tool_failed",
        severity="medium",
        task=text,
        failed_operation=text,
        error_message=text,
        capability=text,
        metadata={"said": text, "parts": [text]},
        summary=(SummaryLine(number=1, objective=text, ok=True),),
        lineage=(text, text),
        action={"command": text},
        traceback=text,
        options=(OfferedOption(id="abort", label="Abort execution"),),
        attempts=(AttemptLine(number=1, ended_at=WHEN, seconds=1, cause="x", message=text, wait_s=1, wait_source="y"),),
        causes=(text, text),
        waits_for=(WaitingNode(node_id="n", kind="agent", name=text),),
        question=text,
        analysis=text,
        analysis_by=text,
    )


NAMES = re.compile(
    r"(?:\*\*)?(?:Task|Failed Operation|Error Message|Capability|Where|To Be Done|Question|Traceback|Analysed By"
    r"|Analysis):"
)
LISTS = re.compile(r"- |[✅❌] Step \d")


def loose(text: str) -> list[str]:
    """The lines with foreign text that stand in no frame."""
    found: list[str] = []
    fence = ""
    for line in re.split(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", text):
        if fence:
            fence = "" if line == fence else fence
        elif opens := re.match(r"`{3,}", line):
            fence = opens[0]
        elif SEAL in line and not line.startswith("    ") and not NAMES.match(line) and not LISTS.match(line):
            found.append(line)
    return found


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
def test_no_line_outside_the_frames_comes_from_foreign_text(said: str) -> None:
    report = report_of(said)
    assert loose(report.markdown()) == []
    assert loose(report.text()) == []
    plain = report.text()
    assert re.findall(r"(?m)^(?:Error Type|Severity|Analysis): ", plain) == ["Error Type: ", "Severity: ", "Analysis: "]


_PIECES = st.sampled_from(
    [
        "\n",
        "\r",
        "\u2028",
        "\x85",
        "```",
        "`",
        "**",
        "__",
        "\\",
        "<b>",
        "](",
        "[a]",
        "# ",
        "Severity:",
        " ",
        "zq",
        "|",
        "x",
    ]
)


@given(st.lists(_PIECES, max_size=30).map("".join))
def test_any_text_stays_in_its_frame(said: str) -> None:
    report = report_of(said)
    assert loose(report.markdown()) == []
    assert all(line.startswith("    ") for line in hanging_indent(said).split("\n")[1:])
    opened, *rows, closed = fenced_block(said).split("\n")
    assert opened == closed
    assert opened not in rows


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("see [here](https://x)", r"see [here]\(https://x)"),
        ("<img src=x> a < b", r"\<img src=x> a < b"),
        ("**Task:** no", r"\*\*Task:\*\* no"),
        ("__Task:__ no", r"\_\_Task:\_\_ no"),
        ("`code` and `half", r"`code` and \`half"),
        ("the end \\", "the end \\\\"),
        (r"\<b>", r"\\\<b>"),
        ('{"a": "say \\"x\\""} snake_case 2*3', '{"a": "say \\"x\\""} snake_case 2*3'),
    ],
)
def test_marks_of_markdown_are_escaped_and_ordinary_text_stays(said: str, shown: str) -> None:
    assert escape_markdown(said) == shown


def test_a_forced_line_break_is_not_kept() -> None:
    assert markdown_text("one  \ntwo\\\nthree") == "one\n    two\\\\\n    three"
