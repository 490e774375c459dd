"""Terminals that show no colour, few colours, or nothing but ASCII: what reaches them, byte by byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from console.output import is_utf8_locale, supports_unicode
from runtime.daemon import daemon
from screens.shell.armed_keys import ARM_AFTER_S
from tests.console.program import Program
from tests.console.pseudo_terminal import ConsoleTerminal, Terminal

STYLES = re.compile(r"\x1b\[([0-9;]*)m")


def codes(terminal: Terminal) -> set[int]:
    """Every SGR code that was written; of 38 and 48 the numbers after them too."""
    return {int(code or 0) for found in STYLES.findall(terminal.text) for code in found.split(";")}


@pytest.fixture
def incident(program: Program, parked: Callable[[], str]) -> Iterator[str]:
    """An incident in the workspace; a runtime that a console started there is stopped."""
    yield parked()
    daemon.stop(program.directory / ".orbiter")


def walked(program: Program, *arguments: str, **variables: str) -> Terminal:
    """What was written by a console that showed the inbox, a run with its prompt, and the help.

    A locale counts when the interpreter starts: it needs one of its own.
    """
    kind, begin = (Terminal, ("-m", "console")) if "LANG" in variables else (ConsoleTerminal, ())
    with kind(*begin, *arguments, size=(80, 24), cwd=program.directory, **variables) as terminal:
        terminal.until("asks permission")
        terminal.press("\r", then="press a key")
        terminal.press("?", then="Next pane")
        terminal.press("\x1b", then="press a key")
        assert terminal.ended("q") == 0, terminal.text[-2000:]
    return terminal


@pytest.mark.usefixtures("incident")
def test_with_no_color_no_colour_is_written_and_the_cursor_is_seen_all_the_same(program: Program) -> None:
    for arguments in ((), ("--theme", "orbiter-light")):
        terminal = walked(program, *arguments, NO_COLOR="1")
        assert codes(terminal) <= {0, 1, 2, 3, 4, 7}, arguments  # bold, dim, italic, underlined, reversed
        assert "\x1b[7m" in terminal.text


@pytest.mark.usefixtures("incident")
def test_a_terminal_of_sixteen_colours_gets_those_alone(program: Program) -> None:
    found = codes(walked(program, TERM="linux", COLORTERM=""))
    assert found & {*range(31, 37), *range(91, 97)}  # whichever theme was chosen last on this machine
    assert found <= {0, 1, 2, 3, 4, 7, *range(30, 38), 39, *range(40, 48), 49, *range(90, 98), *range(100, 108)}


@pytest.mark.usefixtures("incident")
@pytest.mark.parametrize(
    ("arguments", "variables"),
    [((), {"LANG": "C", "LC_ALL": "", "LC_CTYPE": ""}), (("--ascii",), {})],
    ids=["locale", "asked"],
)
def test_nothing_but_ascii_is_painted(program: Program, arguments: tuple[str, ...], variables: dict[str, str]) -> None:
    terminal = walked(program, *arguments, **variables)
    assert [line for line in terminal.text.splitlines() if not line.isascii()] == []


def test_the_environment_asks_for_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = TextIOWrapper(BytesIO(), encoding="utf-8")
    monkeypatch.setenv("LANG", "C.UTF-8")
    for value, unicode in (("", True), ("0", True), ("1", False), ("yes", False)):
        monkeypatch.setenv("ORBITER_ASCII", value)
        assert supports_unicode(stream) is unicode
    assert not supports_unicode(TextIOWrapper(BytesIO(), encoding="ascii"))


@pytest.mark.parametrize(
    ("term", "asked", "unicode"), [("linux", "", False), ("linux", "0", True), ("xterm", "", True)]
)
def test_a_terminal_whose_font_has_few_signs_gets_ascii_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, term: str, asked: str, unicode: bool
) -> None:
    stream = TextIOWrapper(BytesIO(), encoding="utf-8")
    for name, value in (("LANG", "C.UTF-8"), ("ORBITER_ASCII", asked), ("TERM", term)):
        monkeypatch.setenv(name, value)
    assert supports_unicode(stream), "a file has no font"
    monkeypatch.setattr(stream, "isatty", lambda: True)
    assert supports_unicode(stream) is unicode


def test_lists_are_printed_in_ascii_too(tmp_path: Path) -> None:
    program = Program(tmp_path, {"PYTHONUTF8": "0", "LANG": "C", "LC_ALL": "C"})
    for verb in (("themes",), ("--ascii", "themes"), ("--help",)):
        assert program(*verb).stdout.isascii()


@pytest.mark.parametrize(
    ("environment", "utf8"),
    [
        ({}, True),
        ({"LANG": "C"}, False),
        ({"LANG": "POSIX"}, False),
        ({"LANG": "C", "PYTHONUTF8": "1"}, True),
        ({"LANG": "C.UTF-8"}, True),
        ({"LANG": "de_DE.utf8"}, True),
        ({"LANG": "de_DE.ISO-8859-15"}, False),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, False),
        ({"LANG": "C", "LC_ALL": "en_US.UTF-8"}, True),
        ({"LANG": "", "LC_ALL": ""}, True),
    ],
)
def test_whether_a_locale_is_in_utf_8(environment: dict[str, str], utf8: bool) -> None:
    assert is_utf8_locale(environment) is utf8


@pytest.mark.usefixtures("incident")
@pytest.mark.parametrize(("arguments", "term"), [((), "dumb"), (("--linear",), "xterm-256color")])
def test_where_nothing_can_be_painted_what_waits_is_put_in_lines(
    program: Program, arguments: tuple[str, ...], term: str
) -> None:
    with ConsoleTerminal(*arguments, cwd=program.directory, TERM=term, size=(80, 24)) as terminal:
        terminal.until("1 decision waiting")
        terminal.until("the whole report")
        terminal.quiet(2 * ARM_AFTER_S)  # a person reads first: what comes sooner is not taken for an answer
        terminal.press("grant\n", then="for how long?")
        terminal.quiet(2 * ARM_AFTER_S)
        terminal.press("once\n", then="completed")
        terminal.until("Nothing waits for a person.")
        assert terminal.ended() == 0
    assert "\x1b[?1049h" not in terminal.text
    assert program.json("runs")[0]["state"] == "completed"


def test_with_nothing_run_yet_the_linear_mode_says_how_to_begin(tmp_path: Path) -> None:
    with ConsoleTerminal(cwd=tmp_path, TERM="dumb", size=(80, 24)) as terminal:
        terminal.until("No runs yet")
        assert terminal.ended() == 0
    assert list(tmp_path.iterdir()) == []
