"""What the top line says of the links to the hosts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runtime.link.client.client import LinkQuality
from screens.views.shared.link_quality import format_round_trip, link_words
from screens.views.shared.render_context import RenderContext

RENDER_CONTEXT = RenderContext(datetime(2026, 1, 1, tzinfo=UTC))


def words(*links: LinkQuality) -> str:
    return "".join(span.text for span in link_words(links, RENDER_CONTEXT))


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (LinkQuality("", "connected", 0.002), ""),
        (LinkQuality("", "connected", 0.12), ""),
        (LinkQuality("build", "connected"), "build"),
        (LinkQuality("build", "connected", 0.002), "build link <50 ms"),
        (LinkQuality("build", "connected", 0.118), "build link 100 ms"),
        (LinkQuality("build", "connected", 0.7), "build slow link 700 ms"),
        (LinkQuality("build", "connected", 0.1, 4), "build stalled 4 s"),
        (LinkQuality("build", "lost", 0.1), "build"),
        (LinkQuality("", "lost"), ""),
        (LinkQuality("wall", "connected", 0.118, role="viewer"), "wall link 100 ms view only"),
        (LinkQuality("", "connected", role="viewer"), "view only"),
        (LinkQuality("wall", "lost", role="viewer"), "wall"),
    ],
)
def test_one_link(link: LinkQuality, said: str) -> None:
    assert words(link) == said


def test_several_links_are_told_apart_and_foreign_names_go_through_the_gate() -> None:
    said = words(LinkQuality("build", "connected", 0.12), LinkQuality("la\x1b]0;x\x07b", "connected", 0.1, 9))
    assert said.startswith("build link 100 ms  la")
    assert said.endswith("b stalled 9 s")
    assert said.isprintable()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0004, "<50 ms"),
        (0.034, "<50 ms"),
        (0.051, "50 ms"),
        (0.26, "250 ms"),
        (0.97, "950 ms"),
        (1.3, "1.5 s"),
        (12.1, "12 s"),
    ],
)
def test_round_trips_in_steps_that_a_person_can_tell_apart(seconds: float, said: str) -> None:
    assert format_round_trip(seconds) == said
