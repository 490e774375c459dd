"""JSON schemas of tool arguments from a function's signature and docstring, and validation against them.

Types are read by pydantic (`Literal`, enums, nested models, dataclasses, `TypedDict`, unions, `Annotated`), docstrings
in Google, NumPy and Sphinx style by docstring-parser. Simple types give the simple forms that callers know:
``{"type": "object", "properties": {…}, "required": […]}`` without titles; `Optional[X]` gives the form of X.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic import ValidationError as PydanticValidationError
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from orbiter._internal.schema.annotations import UNREADABLE, mentions, read_docstring, read_hints
from orbiter._internal.schema.plain_function import PLAIN_DEFAULTS, PLAIN_TYPES, PlainFunction
from orbiter._internal.schema.pydantic_schema import simplify_schema, with_current_typed_dicts

__all__ = ["Signature", "describe_errors", "find_misfit", "json_schema", "result_schema", "signature_of"]

ReadSignature = Callable[[Callable[..., Any]], inspect.Signature]


class _Parameter(NamedTuple):
    """A parameter that a model gives a value for; `text` is what the docstring says of it."""

    name: str
    hint: Any
    default: Any
    text: str | None


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes, as a model sees it.

    `arguments` validates; its fields are ``p0``, ``p1``, … with the parameters' names as aliases, since a parameter may
    have any name. `context` is the parameter that gets the context instead of a value from the model.
    """

    summary: str
    schema: dict[str, Any]
    arguments: type[BaseModel]
    names: tuple[tuple[str, str], ...]
    open: bool
    context: str | None
    positional: tuple[str, ...]
    returns: Any = None
    """The return type, of an awaitable that of its value; None where it says nothing (`Any`, ``None``, unreadable)."""

    def validate(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values as the function's parameters, those not given left out.

        Raises:
            pydantic.ValidationError: They do not fit.
        """
        # The validator itself, and the values where pydantic keeps them: this runs at every call of every tool.
        checked = self.arguments.__pydantic_validator__.validate_python(values)
        given, found = checked.__pydantic_fields_set__, checked.__dict__
        arguments = {name: found[field] for field, name in self.names if field in given}
        if self.open and checked.model_extra:
            arguments.update(checked.model_extra)
        return arguments


def signature_of(
    fn: Callable[..., Any], *, context_type: type | None = None, read: ReadSignature = inspect.signature
) -> Signature:
    """Read `fn`'s signature, by `read`, and its docstring.

    A parameter annotated with `context_type` is left out of the schema. ``*args`` are left out, ``**kwargs`` let
    undeclared arguments through.
    """
    if (plain := PlainFunction.of(fn)) is not None:
        found, text = _plain_signature(plain)
        return replace(found, schema=json.loads(text))  # its own: the tool's author may edit it
    return _read_signature(fn, context_type, read(fn))


@lru_cache(maxsize=1024)
def _plain_signature(plain: PlainFunction) -> tuple[Signature, str]:
    """What is read of a function of plain types, with its schema as JSON."""
    fn = plain.function()
    found = _read_signature(fn, None, inspect.signature(fn))
    return found, json.dumps(found.schema)


def _read_signature(fn: Callable[..., Any], context_type: type | None, signature: inspect.Signature) -> Signature:
    summary, texts = read_docstring(fn)
    hints = read_hints(fn)
    taken: list[_Parameter] = []
    positional: list[str] = []
    context: str | None = None
    open_ended = False
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            hint = hints.get(name, UNREADABLE)
            if context_type is not None and mentions(hint, context_type):
                context = name
            else:
                taken.append(_Parameter(name, hint, parameter.default, texts.get(name)))
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(name)
    model_name = f"{getattr(fn, '__name__', type(fn).__name__)}_arguments"
    if all(map(_is_plain, taken)):
        written = tuple(f"{each.hint!r} = {each.default!r}" for each in taken)
        arguments, text = _plain_model(model_name, tuple(taken), open_ended, written)
        schema = json.loads(text)  # its own: the tool's author may edit it
    else:
        arguments, whole = _arguments_model(model_name, taken, open_ended)
        schema = _parameters(whole)
    names = tuple((f"p{index}", each.name) for index, each in enumerate(taken))
    return Signature(
        summary,
        schema,
        arguments,
        names,
        open_ended,
        context,
        tuple(positional),
        _returned(hints.get("return")),
    )


def _returned(kind: Any) -> Any:
    if get_origin(kind) in (Awaitable, Coroutine):
        kind = get_args(kind)[-1]
    return None if kind in (Any, object, NoneType, UNREADABLE) else kind


def json_schema(kind: Any) -> dict[str, Any]:
    """The JSON schema of a type, without titles."""
    return simplify_schema(TypeAdapter(kind).json_schema())


def result_schema(kind: Any) -> dict[str, Any] | None:
    """The JSON schema of what a function of this return type gives; None where the type has none. What may be null
    stays so: `json_schema` says ``Optional[X]`` as X, since a model leaves an argument out.
    """
    try:
        return simplify_schema(_with_null(TypeAdapter(_readable(kind)).json_schema()))
    except (PydanticUserError, TypeError):
        return None


def _with_null(node: Any) -> Any:
    """A schema whose null is said in a form that `simplify_schema` leaves alone."""
    if isinstance(node, list):
        return [_with_null(item) for item in node]
    if node == {"type": "null"}:
        return {"type": ["null"]}
    return {key: _with_null(value) for key, value in node.items()} if isinstance(node, dict) else node


def find_misfit(kind: Any, value: Any) -> str:
    """Why `value`, which is JSON, is not of type `kind`; empty if it is, or the type cannot be checked (None).

    Asks pydantic itself: a validator of the type's own knows more than its schema says.
    """
    if kind is None:
        return ""
    try:
        TypeAdapter(_readable(kind)).validate_json(json.dumps(value))
    except PydanticValidationError as exc:
        return describe_errors(exc)
    except (PydanticUserError, TypeError):
        return ""
    return ""


def _readable(kind: Any) -> Any:
    """The type in a form that pydantic can read, if there is one."""
    try:
        TypeAdapter(kind)
    except (PydanticUserError, TypeError):
        return with_current_typed_dicts(kind)
    return kind


def describe_errors(error: PydanticValidationError) -> str:
    """What is wrong with each argument, in words by which a model can correct itself."""
    return "; ".join(_describe_error(detail) for detail in error.errors(include_url=False, include_context=False))


def _describe_error(detail: Any) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"]).lstrip(".")
    if detail["type"] == "missing":
        return f"'{where}' is required"
    if detail["type"] == "extra_forbidden":
        return f"'{where}' is not a parameter"
    at = f"'{where}': " if where else ""
    given = repr(detail["input"])
    message = detail["msg"][:1].lower() + detail["msg"][1:]
    return f"{at}{message} (got {given if len(given) <= 80 else given[:77] + '…'})"


def _is_plain(parameter: _Parameter) -> bool:
    """Whether it is the same for each function that writes it so."""
    default = parameter.default
    return _is_plain_type(parameter.hint) and (default is inspect.Parameter.empty or type(default) in PLAIN_DEFAULTS)


def _is_plain_type(hint: Any) -> bool:
    origin = get_origin(hint)
    if origin is Literal:
        return all(type(value) in PLAIN_DEFAULTS for value in get_args(hint))
    if origin in (list, dict, tuple, set, Union, UnionType):
        return all(part is Ellipsis or _is_plain_type(part) for part in get_args(hint))
    return isinstance(hint, type) and hint in PLAIN_TYPES


@lru_cache(maxsize=1024)
def _plain_model(
    name: str,
    parameters: tuple[_Parameter, ...],
    open_ended: bool,
    _written: tuple[str, ...],  # since `int | str` equals `str | int`, and 1 equals True
) -> tuple[type[BaseModel], str]:
    """The model of the arguments, and their schema as JSON, made once: a swarm's file is executed for every run, and
    its tools are the same each time.
    """
    arguments, whole = _arguments_model(name, parameters, open_ended)
    return arguments, json.dumps(_parameters(whole))


def _arguments_model(
    name: str, parameters: Sequence[_Parameter], open_ended: bool
) -> tuple[type[BaseModel], dict[str, Any]]:
    """The model of the arguments, and its JSON schema."""
    config = ConfigDict(extra="allow" if open_ended else "forbid", protected_namespaces=())
    fields = [(each.hint, _field(each)) for each in parameters]
    try:
        return _checked_model(name, config, fields)
    except (PydanticUserError, TypeError):
        return _checked_model(name, config, [(_usable(hint, config), info) for hint, info in fields])


def _checked_model(
    name: str, config: ConfigDict, fields: Sequence[tuple[Any, FieldInfo]]
) -> tuple[type[BaseModel], dict[str, Any]]:
    definitions: dict[str, Any] = {f"p{index}": field for index, field in enumerate(fields)}
    model: type[BaseModel] = create_model(name, __config__=config, **definitions)
    return model, model.model_json_schema()


def _usable(hint: Any, config: ConfigDict) -> Any:
    for candidate in (hint, with_current_typed_dicts(hint)):
        try:
            _checked_model("probe", config, [(candidate, Field(...))])
        except (PydanticUserError, TypeError):
            continue
        return candidate
    return UNREADABLE


def _field(parameter: _Parameter) -> FieldInfo:
    """What `Annotated` says of a parameter goes before what the docstring says."""
    name, hint, default, text = parameter
    settings: dict[str, Any] = {}
    metadata = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    if not any(isinstance(item, FieldInfo) and item.description for item in metadata):
        text = next((item for item in metadata if isinstance(item, str)), text)
        if text:
            settings["description"] = text
    return cast("FieldInfo", Field(... if default is inspect.Parameter.empty else default, alias=name, **settings))


def _parameters(found: dict[str, Any]) -> dict[str, Any]:
    simple = simplify_schema(found)
    schema: dict[str, Any] = {"type": "object", "properties": simple.get("properties", {})}
    for key in ("required", "$defs"):
        if simple.get(key):
            schema[key] = simple[key]
    return schema
