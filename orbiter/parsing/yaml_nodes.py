"""YAML as nodes, which know their lines, within the limit of nesting."""

from __future__ import annotations

from itertools import chain

import yaml

from orbiter.parsing.nesting import MAX_NESTING, NestedTooDeeply


class NodeLoader(yaml.SafeLoader):
    """A safe loader whose nodes are not nested too deeply, through aliases neither.

    Raises:
        NestedTooDeeply: from `get_single_node`.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._open = 0
        self._heights: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._open += 1
        _check(self._open - 1)
        node = super().compose_node(parent, index)
        self._open -= 1
        if isinstance(node, yaml.CollectionNode) and id(node) not in self._heights:
            parts = chain.from_iterable(node.value) if isinstance(node, yaml.MappingNode) else node.value
            height = 1 + max((self._heights.get(id(part), 0) for part in parts), default=0)
            _check(height)
            self._heights[id(node)] = height
        return node


def _check(levels: int) -> None:
    if levels > MAX_NESTING:
        raise NestedTooDeeply
