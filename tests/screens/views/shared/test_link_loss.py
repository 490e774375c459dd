"""What is said while the runtime is not reached, and of runs that cannot be carried on."""

from __future__ import annotations

from runtime.link.client.client import LinkQuality, LinkStatus
from screens.render.layout import Spans, plain_text, span
from screens.views.shared.link_loss import held_up_words, lost_words, phase_words
from tests.screens.views.shared.test_link_quality import RENDER_CONTEXT

KEY = span("b brings it back", "ink-key")


def _lost(status: LinkStatus) -> str:
    return plain_text(lost_words(status, KEY, RENDER_CONTEXT))


def test_how_far_the_link_is_is_said_until_it_stands() -> None:
    def words(status: LinkStatus) -> Spans:
        return phase_words(status, RENDER_CONTEXT)

    assert words(LinkStatus("connected")) == ()
    assert plain_text(words(LinkStatus("connecting", "ssh asks\x1b[2J"))) == "connecting: ssh asks␛[2J"
    assert plain_text(words(LinkStatus("lost", "it ended"))) == "lost"


def test_the_key_is_named_only_where_it_helps() -> None:
    assert _lost(LinkStatus("lost", "it ended")).startswith(
        f"{RENDER_CONTEXT.glyphs.state['failed']} No runtime, b brings it back: it ended"
    )
    assert "Another version: " in _lost(LinkStatus("lost", "of 2030", mismatch=True))


def test_runs_that_are_held_up_are_told_with_their_host() -> None:
    def links(*told: tuple[str, str]) -> str:
        found = [LinkQuality(host, "connected", 0.0, 0, "operator", why) for host, why in told]
        return plain_text(held_up_words(found, RENDER_CONTEXT))

    assert links(("", ""), ("far", "")) == ""
    assert "cannot write the journal" in links(("", "cannot write the journal"))
    assert "far: the disk is full" in links(("near", ""), ("far", "the disk is full"))
