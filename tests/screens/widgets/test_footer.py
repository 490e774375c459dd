"""The keys at the foot of a screen, where there is not room for all."""

from __future__ import annotations

import pytest

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
