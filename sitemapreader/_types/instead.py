"""Replacements of arguments that a function does not have, and the check that names them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, TypeVar, cast

import attrs

from sitemapreader._types.arguments import Changes, Follow, Search
from sitemapreader._types.options import FetchOptions, Limits

F = TypeVar("F", bound=Callable[..., Any])

_WRITTEN_BY_CLASS: dict[type, str] = {
    Limits: "limits=Limits({}=...)",
    FetchOptions: "options=FetchOptions({}=...)",
    Search: "search=Search({}=...)",
    Follow: "follow=Follow({}=...)",
    Changes: "state=Changes(state, {}=...)",
}
"""Class of options -> how an argument sets one of its fields."""
NESTED_ARGUMENTS: dict[str, str] = {
    **{
        name: written.format(name)
        for kind, written in _WRITTEN_BY_CLASS.items()
        for name in attrs.fields_dict(kind)
        if name not in ("state", "only")
    },
    "seed": "sample=Sample(number, seed=...)",
    "changes": "state=Changes(state)",
    "initial": 'kinds=("new", "gone", "initial")',
}
"""Fields of options, and arguments of 0.3 -> how they are written now."""
_FIRST_KEYWORD = re.compile(r"(\w+)=")


def advise_keywords(
    function: str,
    names: Collection[str],
    known: Collection[str],
    settings: Mapping[str, str] = NESTED_ARGUMENTS,
) -> None:
    """Raise TypeError for a name that is not among the known arguments of a function."""
    for name in names:
        if name in known:
            continue
        from sitemapreader._types.habits import advise_argument  # noqa: PLC0415 (rare)

        fitting = {
            each: written
            for each, written in settings.items()
            if _is_written_with(written, known)
        }
        hint = advise_argument(name, known, fitting) or " see its documentation"
        raise TypeError(f"{function} has no argument {name!r}:{hint}")


def _is_written_with(written: str, known: Collection[str]) -> bool:
    keyword = _FIRST_KEYWORD.match(written)
    return keyword is None or keyword[1] in known


def answer_keywords(
    settings: Mapping[str, str] = NESTED_ARGUMENTS,
) -> Callable[[F], F]:
    """Make a function refuse unknown keyword arguments with the advice for each."""

    def decorate(function: F) -> F:
        code = function.__code__
        known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

        @wraps(function)
        def call(*values: Any, **names: Any) -> Any:
            advise_keywords(function.__name__, names, known, settings)
            return function(*values, **names)

        @wraps(function)
        async def call_async(*values: Any, **names: Any) -> Any:
            advise_keywords(function.__name__, names, known, settings)
            return await function(*values, **names)

        return cast("F", call_async if iscoroutinefunction(function) else call)

    return decorate
