"""The flags of `answer`: one for each parameter that an option takes, made from the table of options."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from itertools import chain, groupby
from typing import Any

import click

from console.verbs.argument_values import json_object
from runtime.judgement.recovery.option_spec import OptionParam
from runtime.judgement.recovery.option_table import OPTIONS
from screens.render.sanitize import sanitize_line

_PREFIX = "param_"
"""Before the name of a parameter among the arguments of the verb, so that it hides none of the verb's own."""


class AnswerCommand(click.Command):
    """A command with its own flags and those of the options' parameters."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        arguments = [each for each in own if isinstance(each, click.Argument)]
        return [*arguments, *_flags(), *(each for each in own if each not in arguments)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, but words too many are taken for an answer without its flag, and the error shows how to
        give it.
        """
        ctx.allow_extra_args = True
        more = super().parse_args(ctx, args)
        if more and not ctx.resilient_parsing:
            asked = [sanitize_line(str(ctx.params[name])) for name in ("incident", "option")]
            said = shlex.join([*asked, "--value", sanitize_line(" ".join(more))])
            ctx.fail(f"the answer itself stands behind a flag, for example: orbiter-console answer {said}")
        return more


def _flags() -> list[click.Option]:
    taken = [(param, spec.id) for spec in OPTIONS.values() for param in spec.params]
    names = dict.fromkeys(param.name for param, _ in taken)
    return [_flag(name, [(param, option) for param, option in taken if param.name == name]) for name in names]


def _flag(name: str, taken: list[tuple[OptionParam, str]]) -> click.Option:
    param = taken[0][0]
    said = [f"With {', '.join(option for _, option in found)}: {words}." for words, found in _by_words(taken)]
    if _is_value(param):
        said.append("Again for several; - reads stdin.")
    return click.Option(
        [f"--{name}", f"{_PREFIX}{name}"],
        type=float if param.kind in ("number", "duration") else None,
        metavar="JSON" if param.kind == "json" else None,
        multiple=_is_value(param),
        help=" ".join(said),
    )


def _by_words(taken: list[tuple[OptionParam, str]]) -> list[tuple[str, list[tuple[OptionParam, str]]]]:
    return [(words, list(found)) for words, found in groupby(taken, key=lambda each: _words(each[0]))]


def _words(param: OptionParam) -> str:
    """What a parameter is, what may be given, and what leaving it out means."""
    values = f": {', '.join(each.value for each in param.choices)}" if param.choices else ""
    unset = param.default if param.default is not None else param.unset.format(target="what is asked for")
    return f"{param.label}{values}{f' (else {unset})' if unset else ''}"


def _is_value(param: OptionParam) -> bool:
    return param.name == "value"


def given_params(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that were given, by name; the value itself is read by the verb, which knows the incident.

    Raises:
        BadInput: an object was asked for, and what was given is not one.
    """
    kinds = {param.name: param.kind for param in chain.from_iterable(spec.params for spec in OPTIONS.values())}
    given = {name.removeprefix(_PREFIX): value for name, value in flags.items() if value not in (None, ())}
    for name, value in given.items():
        if kinds[name] == "json":
            given[name] = json_object(value, f"--{name}")
    return given
