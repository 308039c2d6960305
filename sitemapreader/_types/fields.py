"""Fields of options, whose errors name a valid spelling for a wrong name or value."""

from __future__ import annotations

from datetime import timedelta
from functools import wraps
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

C = TypeVar("C", bound=type)
Validator: TypeAlias = "Callable[[object, attrs.Attribute[Any], Any], None]"

WALK_ARGUMENTS = frozenset(
    {
        *("sitemaps", "since", "until", "undated", "include", "exclude", "language"),
        *("unique", "scope", "sample", "search", "follow", "state", "on_document"),
        *("on_issue", "trusted", "fetcher", "limits", "options"),
    }
)
"""Keyword arguments of `walk`, to which the classes of options belong."""
NESTED_ARGUMENTS: dict[str, str] = {
    "changes": "state=Changes(state)",
    "initial": 'kinds=("new", "gone", "initial")',
    "at_once": "limits=Limits(sites_at_once=...)",
}
"""Fields of options, and arguments of 0.3 -> how they are written now."""
NO_HINT = " see its documentation"


def answer_fields(written: str) -> Callable[[C], C]:
    """Make a class refuse keyword arguments that are no fields, with the advice for each.

    It is a decorator, which stands above the one of attrs. `written` is how an argument sets a
    field of the class, such as "limits=Limits({}=...)".
    """

    def decorate(kind: C) -> C:
        fill = kind.__init__  # type: ignore[misc] # of this class, and of no subclass
        fields = attrs.fields_dict(kind)
        for name, field in fields.items():
            if field.kw_only or field is not attrs.fields(kind)[0]:
                NESTED_ARGUMENTS[name] = written.format(name)

        @wraps(fill)
        def __init__(self: object, *values: Any, **names: Any) -> None:  # noqa: N807 (it is one)
            _advise_fields(kind, names, written.partition("(")[0])
            fill(self, *values, **names)

        kind.__init__ = __init__  # type: ignore[misc] # of this class, and of no subclass
        return kind

    return decorate


def _advise_fields(
    kind: type,
    names: Collection[str],
    argument: str,
) -> None:
    """Raise TypeError for a name that is no field of a class of options."""
    fields = attrs.fields_dict(kind)
    for name in names:
        if name in fields:
            continue
        from sitemapreader._types.habits import (  # noqa: PLC0415 (rare)
            advise_argument,
            advise_field,
        )

        settings = {each: f"{each}=..." for each in WALK_ARGUMENTS} | NESTED_ARGUMENTS
        hint = ""
        if name not in settings:
            hint = advise_field(name, f"{argument}(", fields)
        if not hint:
            hint = advise_argument(name, WALK_ARGUMENTS, settings)
            hint = hint.replace(" write", " in the call of walk, write", 1)
        raise TypeError(f"{kind.__name__} has no argument {name!r}:{hint or NO_HINT}")


def bounded(least: Any, most: Any, example: str) -> Validator:
    """Make an attrs validator for a number or a timedelta between two bounds.

    Raises TypeError for another type, and ValueError beyond the bounds; `None` passes where it is
    the default.
    """
    kinds = {int: Integral, float: Real, timedelta: timedelta}
    nouns = {int: "a whole number", float: "a number", timedelta: "a timedelta"}
    kind = type(least)
    bounds = f"{least} to {most}"
    if kind is timedelta:
        bounds = f"{least.days} to {most.days} days"

    def check(
        _: object,
        field: attrs.Attribute[Any],
        value: Any,
    ) -> None:
        if value is None and field.default is None:
            return
        said = (
            f"`{field.name}` must be {nouns[kind]} from {bounds}, got {value!r}: "
            f"write {field.name}={example}"
        )
        if not isinstance(value, kinds[kind]) or isinstance(value, bool):
            raise TypeError(said)
        if not least <= value <= most:
            raise ValueError(said)

    return check


def of_type(
    kind: type,
    hint: str = "",
) -> Validator:
    """Make an attrs validator for values of a type; its TypeError ends with the hint."""

    def check(_: object, field: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, kind):
            raise TypeError(
                f"{field.name} must be of type {kind.__name__}, got {value!r}{hint}"
            )

    return check


check_flag = of_type(bool)


def one_of(choices: Any) -> Validator:
    """Make an attrs validator for an argument that is one of the words of a Literal."""
    words = get_args(choices)

    def check(
        _: object,
        field: attrs.Attribute[str],
        value: str,
    ) -> None:
        if value not in words:
            raise ValueError(
                f"`{field.name}` must be one of {', '.join(words)}, got {value!r}"
            )

    return check
