"""Tables whose cases are tried in one test: each takes less time than a test of its own."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def for_each(
    names: str, cases: Iterable[Any], ids: Callable[[Any], str] = repr
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each case, as `parametrize` has them, and name all that fail.

    All cases share the fixtures of one test, so it is for tests that leave nothing behind.
    """
    parameters, table = names.replace(" ", "").split(","), list(cases)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            assert table, "a table without cases tests nothing"
            failures: list[BaseException] = []
            for case in table:
                values = case if len(parameters) > 1 else (case,)
                try:
                    test(**fixtures, **dict(zip(parameters, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"in the case {ids(case)}")
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(table)} cases fail", failures)

        signature = inspect.signature(test)
        rest = [value for name, value in signature.parameters.items() if name not in parameters]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        del run.__wrapped__
        return run

    return decorate
