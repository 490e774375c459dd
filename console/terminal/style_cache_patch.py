"""Patch of Textual: caches of closed screens are dropped, since a console is open for days.

In Textual 8.2.8 a cache of colours, of 1,024 entries, has the painter of each widget as a part of its keys, by a slip:
its first parameter is called `cls`, and it is not a class method (`textual/_styles_cache.py`, `get_inner_outer`). So
the painted lines of a thousand widgets outlive them, some 80 MiB an hour where screens are opened and closed all the
time (`benchmarks/soak.py`). As the class method that it was meant to be, it holds colours and nothing else.
"""

from __future__ import annotations

from typing import Any

from textual._styles_cache import StylesCache


def install_style_cache_patch() -> None:
    """From now on that cache holds no painters. Before the app is run; more than once does no harm."""
    found: Any = StylesCache.__dict__["get_inner_outer"]
    if not isinstance(found, classmethod):
        StylesCache.get_inner_outer = classmethod(found)  # type: ignore[method-assign, assignment]
