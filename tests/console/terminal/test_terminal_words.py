"""Sequences for the terminal, and who is told of decisions when: pure."""

from __future__ import annotations

import base64
import re
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.app.export_files import write_export
from console.app.notifications import Notifications, console_rules
from console.preferences.loader import read_preferences
from console.preferences.schema import InvalidPreferences, mouse_by_default, preferences
from console.preferences.state_file import save_theme, saved_theme
from console.terminal.escape_sequences import (
    COPY_BYTES,
    clipboard_sequence,
    has_title,
    title_sequence,
    wrap_for_multiplexer,
)
from runtime.link.client.client import PictureProgress
from tests.present import present
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import DENIED, START, Story


def carried(sequence: str) -> str:
    """The text that an OSC 52 carries."""
    found = present(re.fullmatch("\x1b\\]52;c;([A-Za-z0-9+/=]*)\x07", sequence))
    return base64.b64decode(found[1]).decode()


@given(st.text(max_size=300))
def test_what_is_copied_arrives_as_it_was(text: str) -> None:
    sequence = present(clipboard_sequence(text, {}))
    assert carried(sequence) == text.encode("utf-8", "replace").decode()


@given(st.text(max_size=300))
def test_in_tmux_it_is_wrapped_and_said_again_bare(text: str) -> None:
    sequence = present(clipboard_sequence(text, {"TMUX": "/tmp/tmux,1,0", "TERM": "screen-256color"}))
    inner, _, bare = sequence.removeprefix("\x1bPtmux;").partition("\x1b\\")
    assert inner.replace("\x1b\x1b", "\x1b") == bare == clipboard_sequence(text, {})


@given(st.text(max_size=4000))
def test_in_screen_it_comes_in_pieces_that_screen_takes(text: str) -> None:
    sequence = present(clipboard_sequence(text, {"TERM": "screen", "STY": "1.pts"}))
    pieces = re.findall("\x1bP(.*?)\x1b\\\\", sequence, re.DOTALL)
    assert "".join(pieces) == clipboard_sequence(text, {})
    assert max(map(len, pieces)) < 768


def test_what_is_too_long_for_a_terminal_is_not_copied() -> None:
    assert clipboard_sequence("x" * COPY_BYTES, {}) is not None
    assert clipboard_sequence("x" * (COPY_BYTES + 1), {}) is None
    assert clipboard_sequence("é" * (COPY_BYTES // 2 + 1), {}) is None


def test_a_title_holds_no_control_character() -> None:
    assert title_sequence("a\x1b]52;c;eA==\x07\x9bb\n") == "\x1b]2;a ]52;c;eA== b \x07"
    assert title_sequence("ws\u202egnp\udce9") == "\x1b]2;ws⟨U+202E⟩gnp⟨U+DCE9⟩\x07"
    assert has_title({"TERM": "xterm"})
    assert not has_title({"TERM": "linux"})


def test_outside_of_multiplexers_nothing_is_wrapped() -> None:
    assert wrap_for_multiplexer("\x1b]9;x\x07", {"TERM": "xterm-256color"}) == "\x1b]9;x\x07"


# -- files -------------------------------------------------------------------------------------------------------------


def test_exports_are_new_files_that_only_their_owner_reads(tmp_path: Path) -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    paths = [write_export(tmp_path / "exports", "run/../../x y.txt", "text\ud800", now=now) for _ in range(3)]
    assert len(set(paths)) == 3
    assert {path.parent for path in paths} == {tmp_path / "exports"}
    assert paths[0].name == "20260102T030405-run-..-..-x-y.txt"
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    assert stat.S_IMODE((tmp_path / "exports").stat().st_mode) == 0o700


def test_the_theme_that_was_chosen_is_kept(tmp_path: Path) -> None:
    for environment in ({"XDG_STATE_HOME": str(tmp_path / "state")}, {"HOME": str(tmp_path), "XDG_STATE_HOME": "no"}):
        assert saved_theme(environment) == ""
        save_theme(environment, "orbiter-light")
        assert saved_theme(environment) == "orbiter-light"


# -- preferences -------------------------------------------------------------------------------------------------------


def test_the_mouse_is_left_to_the_terminal_over_ssh_and_in_multiplexers() -> None:
    assert mouse_by_default({})
    for name in ("SSH_CONNECTION", "TMUX", "STY"):
        assert not mouse_by_default({name: "x"})


def test_preferences_are_read_with_their_places(tmp_path: Path) -> None:
    users = tmp_path / "config" / "orbiter"
    users.mkdir(parents=True)
    (users / "orbiter.toml").write_text('[console]\nmouse = false\ntheme = "orbiter-light"\n[keys.run]\nzoom = "Z"\n')
    (tmp_path / "orbiter.toml").write_text('[console]\nmouse = "auto"\n[budgets]\nmax_cost_usd = 1.0\n')
    found = read_preferences(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "config")})
    assert (found.mouse, found.theme, found.copy, found.keys) == (
        None,
        "orbiter-light",
        "terminal",
        {"run": {"zoom": "Z"}},
    )
    assert found.source("console", "mouse") == f"{tmp_path / 'orbiter.toml'}:2"
    assert found.source("keys", "run", "zoom") == f"{users / 'orbiter.toml'}:5"
    assert found.source("console", "copy") == "default"


@pytest.mark.parametrize(
    ("console", "words"),
    [
        ({"mose": True}, "console.mose: unknown key: did you mean 'mouse'?"),
        ({"mouse": "yes"}, 'console.mouse: is true, false or "auto"'),
        ({"mouse": 3}, "console.mouse"),
        ({"copy": "clip"}, 'console.copy: is "terminal" or "file"'),
        ({"title": 1}, "console.title: is true or false"),
        ({"theme": 1}, "console.theme: is the name of a theme"),
    ],
)
def test_what_the_console_does_not_know_is_refused(console: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidPreferences, match="console") as raised:
        preferences({"console": console})
    assert words in str(raised.value)


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "orbiter.toml").write_text("[keys\n")
    with pytest.raises(InvalidPreferences, match=r"orbiter\.toml: not valid TOML"):
        read_preferences(tmp_path, {"HOME": str(tmp_path)})


# -- who is told -------------------------------------------------------------------------------------------------------


class Heard:
    """Notifications on a fake link, and what it did."""

    def __init__(self, link: MemoryLink, configured: dict[str, Any] | None = None) -> None:
        self.link = link
        self.now = START
        self.rung = 0
        self.written: list[str] = []
        self.notifications = Notifications(
            console_rules(configured or {}),
            ring=self.ring,
            write=self.written.append,
            name="orbiter work",
            clock=lambda: self.now,
        )

    def ring(self) -> None:
        self.rung += 1

    def look(self) -> float | None:
        return self.notifications.update(self.link)

    @property
    def told(self) -> list[str]:
        return [text for text in self.written if "\x1b]777;" in text]

    @property
    def title(self) -> str:
        return str(re.findall("\x1b\\]2;([^\x07]*)\x07", "".join(self.written))[-1])


def waiting(story: Story, number: int) -> None:
    story.park(story.start("tool", f"t{number}", story.state.roots[0], number), DENIED, need="fs.write:/x")


def storm(count: int) -> Story:
    story = Story()
    story.begin()
    for number in range(count):
        waiting(story, number)
    return story


def test_nobody_is_told_of_what_was_waiting_when_the_console_opened() -> None:
    heard = Heard(MemoryLink(storm(2)))
    assert heard.look() is None
    assert (heard.rung, heard.told) == (0, [])
    assert heard.title == "2 decisions - orbiter work"


def test_a_storm_makes_one_notice_and_then_one_more() -> None:
    story = storm(0)
    heard = Heard(MemoryLink(story))
    heard.look()
    for number in range(50):
        waiting(story, number)
        held = heard.look()
    assert (heard.rung, len(heard.told)) == (1, 1)
    assert held is not None
    heard.now += timedelta(seconds=held)
    assert heard.look() is None
    assert (heard.rung, len(heard.told)) == (2, 2)
    assert "49 incidents wait for a person" in heard.told[-1]
    assert heard.title == "50 decisions - orbiter work"


def test_only_from_the_configured_severity_on() -> None:
    story = storm(0)
    heard = Heard(MemoryLink(story), {"terminal": "fatal"})
    heard.look()
    waiting(story, 0)
    heard.look()
    assert (heard.rung, heard.told) == (0, [])
    assert heard.title == "1 decision - orbiter work"


def test_nothing_is_written_while_nothing_changes() -> None:
    heard = Heard(MemoryLink(storm(1)))
    heard.look()
    written = len(heard.written)
    for _ in range(5):
        heard.now += timedelta(minutes=1)
        heard.look()
    assert len(heard.written) == written


def test_hostile_words_end_no_sequence() -> None:
    story = storm(0)
    heard = Heard(MemoryLink(story))
    heard.look()
    tool = story.start("tool", "t", story.state.roots[0], 0)
    story.park(tool, DENIED, need="x", message="a\x07\x1b]52;c;eA==\x07\x9c\n;b\u202e\udc80", question="\x1b[2J\x07;")
    heard.look()
    (told,) = heard.told
    assert re.fullmatch("(\x1b\\](2|9|777);[^\x00-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]*\x07)+", told)


def test_what_comes_in_parts_of_the_first_picture_rings_no_bell_and_the_title_says_that_more_may_come() -> None:
    heard = Heard(MemoryLink(storm(2)))
    heard.link.loading = {"": PictureProgress(1, 9, 2, 40)}
    heard.look()
    assert heard.title == "2+ decisions - orbiter work"
    story = heard.link.stories["run-1"]
    waiting(story, 2)
    heard.look()
    heard.link.loading = {}
    waiting(story, 3)  # with the last part
    heard.look()
    assert (heard.rung, heard.told, heard.title) == (0, [], "4 decisions - orbiter work")
    waiting(story, 4)
    heard.look()
    assert (heard.rung, len(heard.told)) == (1, 1)


def test_a_host_whose_picture_is_still_coming_keeps_no_bell_of_another_back() -> None:
    here, there = storm(1), Story("run-2")
    there.begin()
    heard = Heard(MemoryLink(here))
    heard.link.hosts = {"run-1": "here", "run-2": "there"}
    heard.look()
    heard.link.stories["run-2"] = there
    heard.link.loading = {"there": PictureProgress(1, 9, 0, 40)}
    waiting(there, 0)
    heard.look()
    assert heard.rung == 0
    waiting(here, 1)
    waiting(there, 1)
    heard.look()
    assert (heard.rung, heard.title) == (1, "4+ decisions - orbiter work")
