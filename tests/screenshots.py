"""Renders the pictures of the documentation from the app itself: `make screenshots`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from console.app import OrbiterApp
from screens.link import Session
from tests.screens.desk import Desk
from tests.screens.stories import digest, finished

IMAGES = Path(__file__).parent.parent / "docs" / "images"


async def pictures(folder: Path, *, theme: str, size: tuple[int, int], suffix: str) -> list[Path]:
    """The inbox and a run that waits for a decision."""
    desk = Desk(digest(), finished())
    app = OrbiterApp(Session(desk, clock=lambda: desk.now, arm_after=0.0), theme=theme)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause(0.2)
        found = [_save(app, folder / f"inbox{suffix}.svg")]
        await pilot.press("enter")
        await pilot.pause(0.4)
        found.append(_save(app, folder / f"run{suffix}.svg"))
    return found


def _save(app: OrbiterApp, path: Path) -> Path:
    path.write_text(app.export_screenshot(title="orbiter-console"), "utf-8")
    return path


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for theme, suffix in (("orbiter-dark", ""), ("orbiter-light", "-light")):
        for path in asyncio.run(pictures(IMAGES, theme=theme, size=(120, 40), suffix=suffix)):
            print(path)


if __name__ == "__main__":
    main()
