"""What is read off the text of an error."""

from __future__ import annotations

from pathlib import Path

import pytest

import orbiter
from runtime.judgement.reports.explanation.error_text import errno_in, raising_frame


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


OURS = Path(orbiter.__file__).with_name("tool.py")
WRAPPED = f"""\
Traceback (most recent call last):
  File "/srv/trips/trip.py", line 20, in book
    return seats(text)
  File "/usr/lib/python3.12/json/decoder.py", line 355, in raw_decode
    raise JSONDecodeError("Expecting value", s, err.value)
json.decoder.JSONDecodeError: Expecting value

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "{OURS}", line 312, in execute
    return await self._fn()
  File "/srv/trips/trip.py", line 22, in book
    raise NoSeats("none left") from None
trip.NoSeats: none left

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "{OURS}", line 316, in execute
    raise ToolExecutionError(
orbiter.errors.ToolExecutionError: Tool 'book' failed: none left
"""


@pytest.mark.parametrize(
    ("exception", "found"),
    [
        ("NoSeats", ("trip.py", "22", "book")),  # neither what it was raised from, nor what wrapped it
        ("JSONDecodeError", ("trip.py", "20", "book")),  # the user's line, not the library's
        ("ToolExecutionError", ("trip.py", "22", "book")),  # raised by us because of the user's
        ("Unknown", ("trip.py", "22", "book")),
    ],
)
def test_the_frame_is_that_of_the_users_code(exception: str, found: tuple[str, str, str]) -> None:
    assert raising_frame(WRAPPED, exception) == (*found, True)


GROUP = f"""  + Exception Group Traceback (most recent call last):
  |   File "/home/me/trip.py", line 17, in group
  |     raise ExceptionGroup("many", [ValueError("a")])
  | ExceptionGroup: many (1 sub-exception)
  +-+---------------- 1 ----------------
    | ValueError: a
    +------------------------------------

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "{OURS}", line 316, in execute
    raise ToolExecutionError(
orbiter.errors.ToolExecutionError: Tool 'group' failed: many (1 sub-exception)
"""


def test_the_frame_of_an_exception_group_is_found_behind_its_margin() -> None:
    assert raising_frame(GROUP, "ExceptionGroup") == ("trip.py", "17", "group", True)


def test_the_frame_is_the_innermost_where_no_code_of_the_user_is_in_the_traceback() -> None:
    ours = WRAPPED.rpartition("direct cause of the following exception:")[2]
    assert raising_frame(ours, "ToolExecutionError") == ("tool.py", "316", "execute", False)
    assert raising_frame("", "KeyError") is None
