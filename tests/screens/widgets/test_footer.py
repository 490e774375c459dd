"""The keys at the foot of a screen, where there is not room for all."""

from __future__ import annotations

import pytest
from textual.strip import Strip

from screens.widgets.bar import Bar
from tests.screens.pictures import PICTURES
from tests.screens.widgets.test_live_widgets import screen_text


@pytest.mark.parametrize("width", [64, 80, 120])
@pytest.mark.parametrize("name", ["permissions", "run_permission", "inbox"])
async def test_the_ways_on_are_whole_and_no_other_key_is_cut(name: str, width: int) -> None:
    app = PICTURES[name].app()
    async with app.run_test(size=(width, 24)) as pilot:
        await PICTURES[name].take(pilot)
        footer = screen_text(app)[-1]
        assert footer.endswith(": commands   ? help   q quit")
        assert "…" not in footer


async def test_the_first_frame_has_the_columns_and_the_keys_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    painted: dict[str | None, str] = {}
    real = Bar.render_line

    def noted(bar: Bar, y: int) -> Strip:
        strip = real(bar, y)
        painted.setdefault(bar.id, strip.text)
        return strip

    monkeypatch.setattr(Bar, "render_line", noted)
    app = PICTURES["inbox"].app()
    async with app.run_test(size=(64, 24)) as pilot:
        await PICTURES["inbox"].take(pilot)
    assert painted["columns"].split() == ["state", "run", "what", "age"]
    assert painted["foot"].rstrip().endswith(": commands   ? help   q quit")
    assert "…" not in painted["foot"]
