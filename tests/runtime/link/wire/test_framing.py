"""The framing: arbitrary cuts, oversize, garbage."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.link.wire import framing
from runtime.link.wire.framing import (
    FramingError,
    LineReader,
    PartAssembler,
    split_into_parts,
)
from runtime.link.wire.message_parser import InvalidMessage, parse_console_message, parse_message
from runtime.link.wire.protocol import ConsoleMessage, Message


def _chunks(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(places)]


@given(
    st.lists(st.binary(max_size=60).filter(lambda b: b"\n" not in b)), st.binary(max_size=20), st.lists(st.integers(0))
)
def test_lines_come_out_whole_whatever_the_cuts(given_lines: list[bytes], tail: bytes, cuts: list[int]) -> None:
    tail = tail.replace(b"\n", b"")
    reader = LineReader()
    found: list[bytes] = []
    for chunk in _chunks(b"".join(line + b"\n" for line in given_lines) + tail, cuts):
        found += reader.feed(chunk)
    assert found == [line.rstrip(b"\r") for line in given_lines if line.strip()]
    assert reader.pending == len(tail)


@given(st.integers(1, 200), st.lists(st.integers(0), max_size=5))
def test_a_line_over_the_limit_is_an_error_and_stays_one(over: int, cuts: list[int]) -> None:
    reader = LineReader(limit=100)
    assert reader.feed(b"y" * 100 + b"\n") == [b"y" * 100]
    with pytest.raises(FramingError, match="100 bytes"):
        _feed(reader, _chunks(b"x" * (100 + over), cuts))
    with pytest.raises(FramingError):
        reader.feed(b"\n")


def _feed(reader: LineReader, chunks: list[bytes]) -> None:
    for chunk in chunks:
        reader.feed(chunk)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.integers(1, 50))
def test_long_messages_come_through_in_parts(text: str, size: int) -> None:
    line = json.dumps({"t": "x", "text": text}, ensure_ascii=False).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing, "MAX_WHOLE_BYTES", size)
        patch.setattr(framing, "MAX_PART_CHARS", size)
        pieces = list(split_into_parts(line, 3))
    if len(line) <= size:
        assert pieces == [line + b"\n"]
        return
    assembler = PartAssembler()
    whole = [assembler.add(part["key"], part["data"], last=part["last"]) for part in map(json.loads, pieces)]
    assert whole == [None] * (len(pieces) - 1) + [line]


def test_no_part_is_longer_than_a_line_may_be() -> None:
    worst = json.dumps({"t": "x", "text": "\x01" * 400_000 + "€" * 400_000}, ensure_ascii=False).encode()
    assert max(map(len, split_into_parts(worst, 1))) <= framing.MAX_LINE_BYTES


def test_parts_of_several_messages_may_come_interleaved_but_not_without_end() -> None:
    assembler = PartAssembler(limit=10)
    assert assembler.add(1, "ab", last=False) is None
    assert assembler.add(2, "xy", last=False) is None
    assert assembler.add(1, "c", last=True) == b"abc"
    assert assembler.add(2, "z", last=True) == b"xyz"
    with pytest.raises(FramingError):
        assembler.add(3, "x" * 11, last=False)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda s: s.encode(errors="surrogatepass")))
def test_garbage_is_a_bad_message_and_nothing_else(line: bytes) -> None:
    for read in (parse_console_message, parse_message):
        with pytest.raises(InvalidMessage):
            read(line)


def _read_or_refusal(line: bytes) -> ConsoleMessage | InvalidMessage:
    try:
        return parse_console_message(line)
    except InvalidMessage as exc:
        return exc


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("proto", "epoch", "position", "run_id", "after", "id", "verb", "args", "taken", "name", "key", "data", "last")
KINDS = ("as", "attach", "watch", "unwatch", "command", "ack", "ping", "part", "hello", "?")


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_json_that_is_nearly_a_message_is_read_or_refused_in_words(kind: str, fields: dict[str, object]) -> None:
    found = _read_or_refusal(json.dumps({"t": kind, **fields}).encode(errors="surrogatepass"))
    if isinstance(found, InvalidMessage):
        assert str(found)
        assert found.error in {"not_json", "unknown_message", "bad_message"}
    else:
        assert isinstance(found, Message)
        assert parse_console_message(found.line()) == found
