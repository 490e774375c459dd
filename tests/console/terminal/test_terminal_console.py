"""The console in a real pseudo-terminal, on a real runtime: what reaches the terminal, what the terminal does to it."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from runtime.daemon import daemon
from tests.console.program import Program
from tests.console.pseudo_terminal import IDLE_BYTES, ConsoleTerminal, Terminal
from tests.console.tour import PAYLOADS, WALKED
from tests.patience import PATIENCE_S
from tests.workspaces import kept

POINTER_SHAPE = re.compile(r"\x1b\]22;[a-z]*\x07")
"""Textual's own way to say how the mouse pointer is to look; ends with a BEL that rings no bell."""


@pytest.mark.timeout(460)
def test_no_pane_lets_hostile_text_through_and_nothing_crashes() -> None:
    with Terminal("-m", "tests.console.tour", "hostile") as terminal:
        assert terminal.ended(seconds=420) == WALKED, terminal.text[-3000:]
    text = POINTER_SHAPE.sub("", terminal.text)
    begin, end = text.index("orbiter"), text.rindex("\x1b[?2004l")  # between what Textual says first and last
    shown = text[begin:end]
    leaks = {found["id"]: leak for found in PAYLOADS for leak in found["leak"] if re.search(leak, shown)}
    assert leaks == {}
    hidden = [found["literal"] for found in PAYLOADS if found["literal"] and found["literal"] not in shown]
    assert hidden == [], "markup is shown as it was written"


def opened(program: Program, *arguments: str, **options: tuple[int, int]) -> Terminal:
    return ConsoleTerminal(*arguments, cwd=program.directory, **options)  # type: ignore[arg-type]


ESCAPES = re.compile(r"\x1b\[[0-9;?<>]*[A-Za-z]|\x1b\][^\x07]*\x07")


def plain(written: str) -> str:
    """The words alone."""
    return ESCAPES.sub("", written)


def states(program: Program) -> list[str]:
    return [str(run["state"]) for run in program.json("runs")]


def wait_until(true: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)


@pytest.fixture
def stopped(program: Program) -> Iterator[None]:
    """Stops the background runtime that a test started."""
    yield
    daemon.stop(program.directory / ".orbiter")


@pytest.mark.parametrize("arguments", [(), ("--embedded",)], ids=["background", "embedded"])
@pytest.mark.usefixtures("stopped")
def test_a_decision_is_made_by_keys_and_the_run_goes_on(
    program: Program, parked: Callable[[], str], arguments: tuple[str, ...]
) -> None:
    parked()
    with opened(program, *arguments) as terminal:
        terminal.until("asks permission")
        terminal.press("\r", then="press a key")
        terminal.press("g", then="completed")
        assert terminal.ended("q") == 0
    assert states(program) == ["completed"]
    assert len((program.directory / "stored.log").read_text().splitlines()) == 1
    (incident,) = program.json("show", program.json("runs")[0]["id"])[0]["incidents"]
    assert incident["answer"]["by"]["channel"] == "console"


KEYS = {"fetch_index failed": "s", "demo-reader failed": "r", "asks": "", "asks for permission": "g"}
"""What the operator of the demo does about what arises, by the end of its title."""
TITLE = re.compile(r"─◆ [\w:· -]*?(fetch_index failed|demo-reader failed|asks for permission|asks)  waits")


@pytest.mark.timeout(420)
@pytest.mark.parametrize("arguments", [(), ("--embedded",)], ids=["background", "embedded"])
@pytest.mark.usefixtures("stopped")
def test_the_demo_is_played_by_keys_from_start_to_finish(program: Program, arguments: tuple[str, ...]) -> None:
    (program.directory / "notes.txt").write_text("one\ntwo\n")
    decided = []
    with ConsoleTerminal("demo", *arguments, cwd=program.directory, size=(110, 32)) as terminal:
        terminal.until("press a key")
        while "completed" not in plain(terminal.since_key):
            cause = TITLE.findall(plain(terminal.since_key))[-1]
            decided.append(cause)
            if cause == "asks":
                terminal.quiet(2.0)  # a person reads first: what comes sooner is not an answer
                terminal.press("my aunt")
                terminal.quiet(0.5)
                terminal.press("\r", then="takes it back")
                terminal.look_from_here()  # what the field still drew of the typing is not a new question
            else:
                terminal.press(KEYS[cause])
            if KEYS[cause] == "s":
                terminal.until("Skip?")
                terminal.quiet(2.0)
                terminal.press("y")
            terminal.until_any("press a key", "other options", "completed")
        assert terminal.ended("q") == 0, plain(terminal.text)[-2000:]
    assert set(decided) == set(KEYS)
    assert "For my aunt." in (program.directory / ".orbiter/reports/survey.md").read_text()
    (shown,) = program.json("show", program.json("runs")[0]["id"])
    assert {each["answer"]["by"]["channel"] for each in shown["incidents"]} == {"console"}


@pytest.mark.usefixtures("stopped")
def test_two_consoles_on_one_runtime_show_the_same(program: Program, parked: Callable[[], str]) -> None:
    parked()
    with opened(program) as one, opened(program) as other:
        for terminal in (one, other):
            terminal.until("asks permission")
            terminal.press("\r", then="press a key")
        one.press("d")
        one.until("enter")
        one.press("use tea instead\r")
        for terminal in (one, other):
            terminal.until("use tea instead")
            # The report of the answer, or, where the run ended before that was drawn, its result.
            terminal.until_any("Answered: ", "Denied by the operator: use tea instead")
            assert terminal.ended("q") == 0


@pytest.mark.usefixtures("stopped")
def test_a_hang_up_ends_the_console_and_not_the_run(program: Program, parked: Callable[[], str]) -> None:
    parked()
    with opened(program) as terminal:
        terminal.until("asks permission")
        terminal.hang_up()
        assert terminal.ended() in (128 + signal.SIGHUP, -signal.SIGHUP)
    with opened(program) as terminal:
        terminal.until("asks permission")
        terminal.press("\r", then="press a key")
        terminal.press("g", then="completed")


@pytest.mark.usefixtures("stopped")
def test_a_console_that_is_killed_takes_nothing_with_it(program: Program, parked: Callable[[], str]) -> None:
    parked()
    with opened(program) as terminal:
        terminal.until("asks permission")
        terminal.press("\r", then="press a key")
        terminal.press("g", then="takes it back")
        terminal.look_from_here()
        terminal.until_any("sent, waits", "Answered")  # a frame may skip the first
        terminal.signal(signal.SIGKILL)
        terminal.ended()
    wait_until(lambda: states(program) == ["completed"])


@pytest.mark.usefixtures("stopped")
def test_a_killed_runtime_is_said_and_a_key_brings_it_back(program: Program, parked: Callable[[], str]) -> None:
    parked()
    with opened(program, size=(120, 30)) as terminal:
        terminal.until("asks permission")
        there = daemon.running_runtime(program.directory / ".orbiter")
        assert there is not None
        os.kill(there.pid, signal.SIGKILL)
        terminal.until("No runtime")
        terminal.press("b")
        terminal.press("\r", then="press a key")
        terminal.press("g", then="completed")
        assert terminal.ended("q") == 0
    assert states(program) == ["completed"]


@pytest.mark.usefixtures("stopped")
def test_an_idle_console_sends_next_to_nothing(program: Program) -> None:
    kept.opened("parked", program.directory)  # old runs: in the first minute of one its clock moves once a second
    with opened(program) as terminal:
        terminal.until("asks permission")
        assert terminal.at_rest() <= IDLE_BYTES


@pytest.mark.usefixtures("stopped")
def test_a_storm_of_sizes_leaves_a_whole_screen(program: Program, parked: Callable[[], str]) -> None:
    parked()
    with opened(program) as terminal:
        terminal.until("asks permission")
        for number in range(30):
            terminal.resize(20 + 7 * (number % 13), 4 + number % 29)
        terminal.resize(100, 30)
        terminal.press("\r", then="press a key")
        assert terminal.ended("q") == 0


def test_without_a_terminal_it_says_what_there_is_instead(program: Program) -> None:
    done = program()
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr


def test_the_theme_that_is_asked_for_is_painted(program: Program) -> None:
    with ConsoleTerminal("--embedded", "--theme", "orbiter-contrast-light", cwd=program.directory) as terminal:
        terminal.until("No runs yet")
        assert terminal.ended("q") == 0
    assert "48;2;255;255;255" in terminal.text


def test_the_terminal_is_restored(program: Program) -> None:
    with opened(program, "--embedded") as terminal:
        terminal.until("No runs yet")
        assert terminal.ended("q") == 0
    for sequence in ("\x1b[?1049l", "\x1b[?25h", "\x1b[?2004l"):
        assert sequence in terminal.text


@pytest.mark.usefixtures("stopped")
def test_a_terminal_that_stops_reading_stops_no_run(program: Program, parked: Callable[[], str]) -> None:
    incident = parked()
    with opened(program) as terminal:
        terminal.until("asks permission")
        terminal.press("\r", then="press a key")
        for number in range(200):  # no process reads what these paint
            terminal.resize(80 + number % 40, 24)
            os.write(terminal.leader, b"\t")
            time.sleep(0.005)
        done = program("answer", incident, "grant")
        assert done.returncode == 0, done.stderr
        wait_until(lambda: states(program) == ["completed"])
        terminal.until("completed")
        assert terminal.ended("q") == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_gives_the_terminal_back(program: Program, number: signal.Signals) -> None:
    with opened(program, "--embedded") as terminal:
        terminal.until("No runs yet")
        terminal.signal(number)
        terminal.ended()
        assert "\x1b[?1049l" in terminal.text
        assert "Traceback" not in terminal.text


@pytest.mark.parametrize("report", [b"\x1b[M \xff\xff", b"\xff\xfe\xc3", b"\x1b[M#\xe0!", b"\x1b[<999999;-5;0M"])
def test_a_broken_mouse_report_is_dropped(program: Program, report: bytes) -> None:
    with opened(program, "--embedded") as terminal:
        terminal.until("No runs yet")
        terminal.press(report)
        terminal.press("?", then="esc closes")
        terminal.press("\x1b", then="No runs yet")
        assert terminal.ended("q") == 0


def test_errors_that_go_to_a_file_do_not_take_the_screen_along(program: Program) -> None:
    log = program.directory / "errors.txt"
    start = f"import os, sys; os.dup2(os.open({str(log)!r}, os.O_WRONLY | os.O_CREAT), 2); "
    start += "os.execv(sys.executable, [sys.executable, '-m', 'console', '--embedded'])"
    with Terminal("-c", start, cwd=program.directory) as terminal:
        terminal.until("inbox")
        assert terminal.ended("q") == 0
    assert log.read_text() == ""


def row_of(terminal: Terminal, words: str) -> int:
    """The row, from 1 on, on which words were written last."""
    before = terminal.text[: terminal.text.rindex(words)]
    return int(re.findall(r"\x1b\[(\d+);\d+H", before)[-1])


@pytest.mark.usefixtures("stopped")
def test_with_the_mouse_a_run_is_opened_a_page_scrolled_and_an_option_taken(
    program: Program, parked: Callable[[], str]
) -> None:
    parked()
    with opened(program, "--mouse") as terminal:
        terminal.until("asks permission")
        terminal.click(20, row_of(terminal, "asks permission"))
        terminal.until("press a key")
        terminal.press("?", then="Keys")
        terminal.until("Copy the line")
        terminal.wheel(20, 12, down=True)
        terminal.until("\x1b[")
        terminal.press("\x1b", then="press a key")
        option = row_of(terminal, "Abort execution")
        terminal.click(50, option)
        terminal.until("Ends the whole")
        terminal.quiet(0.6)  # two clicks sooner are a double click, which only marks
        terminal.click(50, option)
        terminal.until("Abort execution")
        terminal.quiet(1.5)  # the second key counts a moment after it is asked for
        terminal.press("y", then="aborted")
        assert terminal.ended("q") == 0
    assert states(program) == ["aborted"]
