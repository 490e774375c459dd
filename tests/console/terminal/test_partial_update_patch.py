"""Only what changed is painted and sent, and what stands there afterwards is what a whole repaint would have left."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual import _compositor
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from console.terminal.partial_update_patch import PartialUpdate, Piece, install_partial_update_patch

CONSOLE = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=80)


class Pane(Widget):
    """Lines that say how often they were painted; wide letters among them."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.content: dict[int, str] = {}
        self.painted: list[int] = []

    def render_line(self, y: int) -> Strip:
        self.painted.append(y)
        text = self.content.get(y, f"{self.id} {y} 二三 ")
        return Strip([Segment(text * 9, Style(bold=bool(y % 2)))]).crop_extend(0, self.size.width, None)


class Panes(App[None]):
    CSS = """
    #head { height: 2; }
    #left { width: 3fr; border: round; }
    #right { width: 2fr; padding: 1; }
    #over { layer: above; width: 17; height: 4; offset: 11 3; }
    Screen { layers: below above; }
    """

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Pane("head")
            with Horizontal():
                yield Pane("left")
                yield Pane("right")
        yield Pane("over")

    def update(self, *regions: Region) -> PartialUpdate | None:
        """The update after these regions of the screen changed."""
        self.screen._compositor._dirty_regions.update(regions)
        found = self.screen._compositor.render_partial_update()
        assert found is None or isinstance(found, PartialUpdate)
        return found


@pytest.fixture(autouse=True)
def _patched(monkeypatch: pytest.MonkeyPatch) -> None:
    original = _compositor.Compositor.render_partial_update
    monkeypatch.setattr(_compositor.Compositor, "render_partial_update", original)
    install_partial_update_patch()


def cells(strip: Strip) -> Iterator[tuple[str, Style | None]]:
    """Each cell; of a wide letter the second is empty."""
    for text, style, _ in strip:
        for letter in text:
            yield letter, style
            if cell_len(letter) > 1:
                yield "", style


@pytest.mark.parametrize("seed", range(20))
async def test_the_changed_cells_are_sent_as_a_whole_repaint_would_paint_them(seed: int) -> None:
    chance = random.Random(seed)
    app = Panes()
    async with app.run_test(size=(60, 20)):
        for _ in range(20):
            pane = chance.choice(list(app.query(Pane)))
            line = chance.randrange(pane.size.height)
            pane.content[line] = f"new {chance.random()} 四"
            pane._styles_cache.clear()
            regions = [
                Region(x, y, chance.randrange(1, 61 - x), chance.randrange(1, 4))
                for x, y in ((chance.randrange(60), chance.randrange(20)) for _ in range(chance.randrange(1, 5)))
            ]
            expected = [list(cells(strip)) for strip in app.screen._compositor.render_strips()]
            changed = {(y, x) for each in regions for y in each.line_range for x in each.column_range if y < 20}
            update = app.update(*regions)
            assert update is not None
            sent = {(y, x + at): cell for y, x, strip in update.pieces for at, cell in enumerate(cells(strip))}
            assert sent.keys() == changed
            assert sum(strip.cell_length for _, _, strip in update.pieces) == len(changed), "a cell is sent twice"
            for (y, x), cell in sent.items():
                if cell[0] != " ":  # in place of half of a wide letter
                    assert cell == expected[y][x], (y, x)
            assert list(update.pieces) == sorted(update.pieces, key=lambda piece: piece[:2])


async def test_a_pane_between_two_changes_and_lines_that_did_not_change_are_not_painted() -> None:
    app = Panes()
    async with app.run_test(size=(60, 20)):
        for pane in app.query(Pane):
            pane._styles_cache.clear()
            pane.painted.clear()
        app.update(Region(0, 0, 60, 1), Region(40, 15, 10, 2))
        painted = {str(pane.id): pane.painted for pane in app.query(Pane)}
        assert painted == {"head": [0], "left": [], "right": [12, 13], "over": []}


async def test_where_nothing_changed_nothing_is_sent() -> None:
    app = Panes()
    async with app.run_test(size=(60, 20)):
        app.screen._compositor._dirty_regions.clear()
        assert app.update() is None
        assert app.update(Region(0, 30, 60, 1)) is None, "below the screen"


def test_a_piece_is_written_where_it_stands() -> None:
    update = PartialUpdate([Piece(3, 30, Strip([Segment(" 12s")])), Piece(4, 0, Strip([Segment("二")]))])
    assert update.render_segments(CONSOLE) == "\x1b[4;31H 12s\x1b[5;1H二"
