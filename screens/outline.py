"""Which lines of a tree stand on the screen, and the rails before them. No recursion: trees may be deep."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from screens.glyphs import UNICODE, Glyphs
from screens.layout import Row


class Outlined(Protocol):
    """A tree that can be shown: keys for nodes, children in their order, and what a line says."""

    def roots(self) -> Sequence[str]: ...

    def children(self, key: str) -> Sequence[str]: ...

    def parent(self, key: str) -> str:
        """Empty for a root."""
        ...

    def folded_at_first(self, key: str) -> bool:
        """Whether its children are hidden unless the user chose otherwise."""
        ...

    def row(self, key: str) -> Row:
        """The cells of a line; the rails go before the first of them."""
        ...

    def fresh(self, key: str) -> bool:
        """Whether it came a moment ago."""
        ...

    def shape(self) -> object:
        """Equal as long as no line can have come, gone or folded by itself."""
        ...


class Branch(NamedTuple):
    """A line of the tree. `rails` is what stands before its first cell."""

    key: str
    rails: str
    depth: int
    foldable: bool
    folded: bool


def outline(
    tree: Outlined,
    chosen: Mapping[str, bool],
    *,
    glyphs: Glyphs = UNICODE,
    keep_open: Collection[str] = (),
) -> list[Branch]:
    """The lines in order. `chosen` says what the user folded (True) or unfolded (False); what is in `keep_open`
    does not fold by itself: the user stands in it.
    """
    lines: list[Branch] = []
    blank = " " * len(glyphs.rail)
    stack: list[tuple[str, str, str, int]] = [(key, "", "", 0) for key in reversed(tree.roots())]
    while stack:
        key, before, own, depth = stack.pop()
        children = tree.children(key)
        foldable = bool(children)
        folded = foldable and chosen.get(key, key not in keep_open and tree.folded_at_first(key))
        lines.append(Branch(key, before + own, depth, foldable, folded))
        if foldable and not folded:
            below = before + ("" if depth == 0 else glyphs.rail if own == glyphs.branch else blank)
            last = len(children) - 1
            stack.extend(
                (children[index], below, glyphs.last if index == last else glyphs.branch, depth + 1)
                for index in range(last, -1, -1)
            )
    return lines


def ancestors(tree: Outlined, key: str) -> list[str]:
    """From the parent of `key` up to its root."""
    found: list[str] = []
    above = tree.parent(key)
    while above:
        found.append(above)
        above = tree.parent(above)
    return found
