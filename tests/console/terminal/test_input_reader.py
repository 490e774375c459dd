"""What is made of the bytes that a terminal sends, read from a real one."""

from __future__ import annotations

import os
import queue
import threading
import tty
from collections.abc import Iterator

import pytest
from textual import constants, events
from textual._xterm_parser import XTermParser
from textual.message import Message

from console.terminal import input_reader
from console.terminal.pasted_text import PastedText
from tests.patience import PATIENCE_S


class Keyboard:
    """A terminal that is read in a thread. `send` types; `key` is the next key that came of it."""

    def __init__(self) -> None:
        self.leader, self.follower = os.openpty()
        tty.setraw(self.follower)
        self.failed: BaseException | None = None
        self._came: queue.Queue[Message] = queue.Queue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        try:
            input_reader.read_input(self.follower, self._ended, self._came.put)
        except (EOFError, OSError) as exc:
            self.failed = exc

    def send(self, data: bytes) -> None:
        os.write(self.leader, data)

    def message(self) -> Message:
        return self._came.get(timeout=PATIENCE_S)

    def key(self) -> str:
        message = self.message()
        assert isinstance(message, events.Key)
        return message.key

    def hang_up(self) -> None:
        os.close(self.leader)
        self.leader = -1
        self.wait()

    def wait(self) -> None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def close(self) -> None:
        self._ended.set()
        if self.leader >= 0:
            self.send(b"x")  # it may wait for long
            self.wait()
            os.close(self.leader)
        os.close(self.follower)


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keyboard]:
    """One whose reader wakes for what comes, and for Escape, alone."""
    monkeypatch.setattr(input_reader, "_ENDED_CHECK_S", 2 * PATIENCE_S)
    made = Keyboard()
    yield made
    made.close()


def test_escape_alone_is_a_key_after_the_delay_and_not_when_the_reader_next_wakes(
    keyboard: Keyboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "ESCAPE_DELAY", 0.001)
    keyboard.send(b"\x1b")
    assert keyboard.key() == "escape"
    keyboard.send(b"\x1bq")
    assert keyboard.key() == "alt+q"


def test_a_sequence_that_comes_in_two_pieces_is_one_key(keyboard: Keyboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ESCAPE_DELAY", PATIENCE_S)
    keyboard.send(b"a\x1b[")
    assert keyboard.key() == "a"  # the first piece is read by now
    keyboard.send(b"Bb")
    assert [keyboard.key(), keyboard.key()] == ["down", "b"]


def test_a_character_that_comes_in_two_pieces_is_one_key(keyboard: Keyboard) -> None:
    first, second = "\u00e9".encode()
    keyboard.send(b"a" + bytes([first]))
    assert keyboard.key() == "a"
    keyboard.send(bytes([second]) + b"b")
    assert [keyboard.key(), keyboard.key()] == ["\u00e9", "b"]


@pytest.mark.parametrize("noise", [b"\x1b[M \xff\xff", b"\x1b[M#\xe0!"])
def test_a_mouse_report_that_is_not_utf_8_is_dropped(keyboard: Keyboard, noise: bytes) -> None:
    keyboard.send(noise)
    keyboard.send(b"q")
    assert keyboard.key() == "q"


def test_a_terminal_that_is_gone_ends_the_reader(keyboard: Keyboard) -> None:
    keyboard.send(b"a")
    assert keyboard.key() == "a"
    keyboard.hang_up()
    assert isinstance(keyboard.failed, EOFError | OSError)


PASTES = {
    "colours": "a log: \x1b[31mred\x1b[0m and y a\nq",
    "an escape at its end": "text\x1b",
    "escapes in a row": "\x1b\x1b\x1b[201\x1b[20 a \x1b[",
    "another beginning": "x\x1b[200~y",
    "a mouse report": "\x1b[<0;10;5M",
    "a long sequence": "\x1b[" + "1;" * 200 + "a y",
    "plain": "one line\r\ntwo \u00e9",
}


@pytest.mark.parametrize("pasted", PASTES.values(), ids=PASTES)
@pytest.mark.parametrize("piece", [1, 3, 7, 10_000])
def test_what_is_pasted_is_one_text_whatever_stands_in_it(pasted: str, piece: int) -> None:
    sent = f"k\x1b[200~{pasted}\x1b[201~z\x1b[200~\x1b[201~\x1b[Aq"
    parser, guard = XTermParser(), PastedText()
    came: list[str] = []
    for start in range(0, len(sent), piece):
        text = guard.hide(sent[start : start + piece])
        for message in parser.feed(text) if text else ():
            restored = guard.restore(message)
            assert isinstance(restored, events.Key | events.Paste)
            came.append(restored.key if isinstance(restored, events.Key) else f"pasted {restored.text}")
    assert [each for each in came if each != "pasted "] == ["k", f"pasted {pasted}", "z", "up", "q"]


def test_a_paste_with_an_escape_is_read_from_a_terminal_as_one_text(keyboard: Keyboard) -> None:
    keyboard.send(b"\x1b[200~\x1b[31my\x1b[201~")
    message = keyboard.message()
    assert isinstance(message, events.Paste)
    assert message.text == "\x1b[31my"


def pasted_text(keyboard: Keyboard) -> str:
    message = keyboard.message()
    assert isinstance(message, events.Paste)
    return message.text


@pytest.mark.parametrize(("sent", "pasted"), [(b"abc", "abc"), (b"a\x1b[20", "a\x1b[20")])
def test_keys_are_heard_after_a_paste_whose_end_is_lost(
    keyboard: Keyboard, monkeypatch: pytest.MonkeyPatch, sent: bytes, pasted: str
) -> None:
    monkeypatch.setattr(input_reader, "_PASTE_SILENCE_S", 0.001)
    keyboard.send(b"\x1b[200~" + sent)
    assert pasted_text(keyboard) == pasted
    for keys, heard in ((b"\x03", "ctrl+c"), (b"\x1b[A", "up"), (b"q", "q")):
        keyboard.send(keys)
        assert keyboard.key() == heard
    keyboard.send(b"\x1b[200~whole\x1b[201~z")
    assert pasted_text(keyboard) == "whole"
    assert keyboard.key() == "z"


@pytest.mark.parametrize("rest", ["y\ra", "\x1b[31my", "\x1b[31m\x1b[", "\x1b" * 200 + "[", "ab"])
def test_the_rest_of_a_paste_that_comes_after_a_silence_is_a_paste(
    keyboard: Keyboard, monkeypatch: pytest.MonkeyPatch, rest: str
) -> None:
    monkeypatch.setattr(input_reader, "_PASTE_SILENCE_S", 0.001)
    keyboard.send(b"\x1b[200~abc")
    assert pasted_text(keyboard) == "abc"
    keyboard.send(rest.encode())
    assert pasted_text(keyboard) == rest
    keyboard.send(b"\x1b[201~q")
    while isinstance(message := keyboard.message(), events.Paste):
        assert not message.text  # between two ends
    assert isinstance(message, events.Key)
    assert message.key == "q"


def test_a_paste_after_one_whose_end_was_lost_is_whole() -> None:
    parser, guard = XTermParser(), PastedText()
    came: list[Message] = []
    for text in (guard.hide("\x1b[200~a"), guard.break_off(), guard.hide("\x1b[200~b\x1b[31m\x1b[201~q")):
        came += [guard.restore(each) for each in parser.feed(text)]
    assert [each.text if isinstance(each, events.Paste) else each for each in came[:2]] == ["a", "b\x1b[31m"]
    assert isinstance(came[2], events.Key)
