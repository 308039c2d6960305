"""Tables whose cases are tried in one test: each takes less time than a test of its own."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def spread(cases: Sequence[Any], few: int) -> Sequence[Any]:
    """Return so many cases at most, from all parts of a table."""
    return cases[:: -(-len(cases) // few)]


def for_each(
    names: str, cases: Iterable[Any], ids: Callable[[Any], str] = repr, few: int = 0
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each case, as `parametrize` has them, and name all that fail.

    All cases share the fixtures of one test, so it is for tests that leave nothing behind.

    Args:
        names: the arguments of the test that a case has values for.
        cases: the table.
        ids: what names a case that fails.
        few: how many are tried by default, from all parts of the table; the slow suite tries all.
    """
    parameters, table = names.replace(" ", "").split(","), list(cases)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            assert table, "a table without cases tests nothing"
            failures: list[BaseException] = []
            is_all = fixtures["thorough"] if few else True
            for case in table if is_all else spread(table, few):
                values = case if len(parameters) > 1 else (case,)
                try:
                    test(
                        **{n: fixtures[n] for n in rest},
                        **dict(zip(parameters, values, strict=True)),
                    )
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"in the case {ids(case)}")
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(
                    f"{len(failures)} of {len(table)} cases fail", failures
                )

        signature = inspect.signature(test)
        rest = {
            name: each
            for name, each in signature.parameters.items()
            if name not in parameters
        }
        thorough = inspect.Parameter("thorough", inspect.Parameter.KEYWORD_ONLY)
        needed = rest | {"thorough": thorough} if few else rest
        run.__signature__ = signature.replace(parameters=[*needed.values()])  # type: ignore[attr-defined]
        del run.__wrapped__
        return run

    return decorate
