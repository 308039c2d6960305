"""Replacements of arguments that a function does not have, and the check that names them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, TypeVar, cast

from sitemapreader._types.fields import NESTED_ARGUMENTS, NO_HINT

F = TypeVar("F", bound=Callable[..., Any])


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
        from sitemapreader._types.habits import (  # noqa: PLC0415 (rare)
            advise_argument,
            is_written_with,
        )

        fitting = {
            each: written
            for each, written in settings.items()
            if is_written_with(written, known)
        }
        hint = advise_argument(name, known, fitting) or NO_HINT
        raise TypeError(f"{function} has no argument {name!r}:{hint}")


def answer_keywords(
    settings: Mapping[str, str] = NESTED_ARGUMENTS,
) -> Callable[[F], F]:
    """Make a function refuse unknown keyword arguments with the advice for each."""

    def decorate(function: F) -> F:
        code = function.__code__
        known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        name = function.__qualname__.removesuffix(".__init__")

        @wraps(function)
        def call(*values: Any, **names: Any) -> Any:
            advise_keywords(name, names, known, settings)
            return function(*values, **names)

        @wraps(function)
        async def call_async(*values: Any, **names: Any) -> Any:
            advise_keywords(name, names, known, settings)
            return await function(*values, **names)

        return cast("F", call_async if iscoroutinefunction(function) else call)

    return decorate
