"""The actions of the console and their keys, read from the bindings that the screens work with."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Final, NamedTuple

from textual.binding import Binding
from textual.dom import DOMNode

import screens
from runtime.judgement.recovery.option_spec import pressed_label
from runtime.judgement.recovery.option_table import OPTIONS
from screens.render.key_names import CONTEXT_NAMES, DECISIONS

GRANT_LONGER: Final = "decision.grant_longer"
"""Its key is always the capital letter of the grant's (DESIGN: standing grants take the capital letter)."""


class Action(NamedTuple):
    """One action: its stable id, where it works, the keys (as Textual calls them) that do it, and what it does."""

    id: str
    place: str
    keys: tuple[str, ...]
    does: str

    @property
    def context(self) -> str:
        """The first part of the id."""
        return self.id.partition(".")[0]


@cache
def bound_classes() -> tuple[type[DOMNode], ...]:
    """Everything of ours that has keys of its own. Imports all screens."""
    return tuple(dict.fromkeys(owner for owner in _owners() if owner.__dict__.get("BINDINGS")))


def _owners() -> Iterator[type[DOMNode]]:
    for module in pkgutil.walk_packages(screens.__path__, "screens."):
        for value in vars(import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, DOMNode) and value.__module__ == module.name:
                yield value


def actions() -> tuple[Action, ...]:
    """All actions with their default keys, by place; then the decisions, which the prompt reads by itself."""
    decisions = [Action(f"decision.{spec.id}", DECISIONS, (spec.key,), spec.pressed_label) for spec in OPTIONS.values()]
    grant = OPTIONS["grant"]
    return (*_bindings(), *decisions, Action(GRANT_LONGER, DECISIONS, (grant.key.upper(),), longer_words()))


def longer_words() -> str:
    """What the capital letter of the grant does."""
    return pressed_label(pressed_label(f"{OPTIONS['grant'].label} for longer", "opens"), "asks")


@cache
def _bindings() -> tuple[Action, ...]:
    found = {
        each.id: _action(each) for owner in bound_classes() for each in owner.BINDINGS if isinstance(each, Binding)
    }
    order = {context: at for at, context in enumerate(CONTEXT_NAMES)}
    return tuple(sorted((found[name] for name in found if name), key=lambda each: order.get(each.context, len(order))))


def _action(binding: Binding) -> Action:
    named = binding.id or ""
    keys = tuple(key.strip() for key in binding.key.split(","))
    context = named.partition(".")[0]
    return Action(named, CONTEXT_NAMES.get(context, context), keys, binding.tooltip or binding.description)
