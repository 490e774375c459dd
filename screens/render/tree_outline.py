"""The outline of a tree: which lines are shown, and the rails before them. No recursion: trees may be deep."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from screens.render.glyphs import UNICODE_GLYPHS, Glyphs
from screens.render.layout import Row


class OutlineSource(Protocol):
    """A tree that can be shown: keys for nodes, children in their order, and what a line says."""

    def roots(self) -> Sequence[str]: ...

    def children(self, key: str) -> Sequence[str]: ...

    def parent(self, key: str) -> str:
        """Empty for a root."""
        ...

    def folded_at_first(self, key: str) -> bool:
        """Whether its children are hidden unless the user chose otherwise."""
        ...

    def facts(self, key: str) -> object:
        """What the row is made of: as long as it is equal, so is the row."""
        ...

    def row(self, key: str, facts: object = None) -> Row:
        """The cells of a line; the rails go before the first of them. `facts`: those of now, where they are known."""
        ...

    def fresh(self, key: str) -> bool:
        """Whether it came a moment ago."""
        ...

    def shape(self) -> object:
        """Equal as long as no line can have come, gone or folded by itself."""
        ...

    def changed_since(self, before: object) -> Callable[[str], bool] | None:
        """Whether a line may have changed since the tree was `before`, for each; None: all of them may have."""
        ...

    def added_since(self, shape: object) -> Sequence[str] | None:
        """What came since the tree had that shape, parents first, each behind all of its siblings by then; None where
        more than that may have changed.
        """
        ...

    def sibling_before(self, key: str) -> str:
        """The one that stands before `key`; empty if it is the first."""
        ...


class Branch(NamedTuple):
    """A line of the tree. `rails` is what stands before its first cell."""

    key: str
    rails: str
    depth: int
    foldable: bool
    folded: bool


def outline(
    tree: OutlineSource,
    chosen: Mapping[str, bool],
    *,
    glyphs: Glyphs = UNICODE_GLYPHS,
    keep_open: Collection[str] = (),
) -> list[Branch]:
    """The lines in order. `chosen` says what the user folded (True) or unfolded (False); what is in `keep_open`
    does not fold by itself: the user stands in it.
    """
    lines: list[Branch] = []
    blank = " " * len(glyphs.rail)
    # What is left of the siblings at each level that is being gone through, and what stands before them.
    levels: list[tuple[Iterator[str], str, str]] = [(iter(tree.roots()), "", "")]
    while levels:
        siblings, before, last = levels[-1]
        depth = len(levels) - 1
        for key in siblings:
            own = "" if not depth else glyphs.last if key == last else glyphs.branch
            children = tree.children(key)
            if not children:
                lines.append(Branch(key, before + own, depth, False, False))
                continue
            folded = chosen.get(key, key not in keep_open and tree.folded_at_first(key))
            lines.append(Branch(key, before + own, depth, True, folded))
            if not folded:
                below = before + ("" if not depth else glyphs.rail if own == glyphs.branch else blank)
                levels.append((iter(children), below, children[-1]))
                break
        else:
            levels.pop()
    return lines


def added_line(parent: Branch | None, key: str, glyphs: Glyphs) -> Branch:
    """The line of a last child; of a root where `parent` is None."""
    if parent is None:
        return Branch(key, "", 0, False, False)
    return Branch(key, _rails_below(parent, glyphs) + glyphs.last, parent.depth + 1, False, False)


def no_longer_last(line: Branch, depth: int, glyphs: Glyphs) -> Branch:
    """A line as it is when another child follows the one of `depth` that it is, or stands below."""
    if not depth:
        return line
    width = len(glyphs.rail)
    at = (depth - 1) * width
    own = glyphs.branch if line.depth == depth else glyphs.rail
    return line._replace(rails=line.rails[:at] + own + line.rails[at + width :])


def _rails_below(parent: Branch, glyphs: Glyphs) -> str:
    if not parent.depth:
        return ""
    width = len(glyphs.rail)
    before, own = parent.rails[:-width], parent.rails[-width:]
    return before + (glyphs.rail if own == glyphs.branch else " " * width)


def ancestors(tree: OutlineSource, key: str) -> list[str]:
    """From the parent of `key` up to its root."""
    found: list[str] = []
    above = tree.parent(key)
    while above:
        found.append(above)
        above = tree.parent(above)
    return found
