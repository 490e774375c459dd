"""Renders the pictures of the documentation from the app itself: `make screenshots`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.screens.pictures import PICTURES

IMAGES = Path(__file__).parent.parent / "docs" / "images"
SHOWN = {"inbox": "inbox", "run": "run_permission"}
"""Files, each with the picture in it."""


async def taken(name: str, path: Path, *, theme: str, size: tuple[int, int] = (120, 40)) -> Path:
    """One picture as a file."""
    picture = PICTURES[name]
    app = picture.app(theme=theme)
    async with app.run_test(size=size) as pilot:
        await picture.take(pilot)
        path.write_text(app.picture(), "utf-8")
    return path


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for theme, suffix in (("orbiter-dark", ""), ("orbiter-light", "-light")):
        for file, name in SHOWN.items():
            print(asyncio.run(taken(name, IMAGES / f"{file}{suffix}.svg", theme=theme)))


if __name__ == "__main__":
    main()
