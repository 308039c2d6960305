"""Tables of cases that are tried in one test."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest
from each_case import for_each

if TYPE_CHECKING:
    from pathlib import Path


def test_all_cases_are_tried_and_those_that_fail_are_named() -> None:
    """A case that fails hides no other, however it fails; fixtures are handed through."""
    tried = []

    @for_each("odd", [False, True])
    @for_each("number, word", [(1, "a"), (2, "b"), (3, "c")])
    def check(number: int, word: str, odd: bool, tmp_path: Path) -> None:
        tried.append((number, word, str(tmp_path)))
        assert number != 1
        with pytest.raises(ValueError, match="b"):
            raise ValueError(word) if odd or number != 3 else KeyError
        assert not odd

    assert list(inspect.signature(check).parameters) == ["tmp_path"]
    with pytest.raises(BaseExceptionGroup, match="2 of 2 cases fail") as caught:
        check(tmp_path="here")
    assert tried == [(number, word, "here") for number, word in [(1, "a"), (2, "b"), (3, "c")] * 2]
    notes = [[case.__notes__ for case in group.exceptions] for group in caught.value.exceptions]
    names = [[note for (note,) in each] for each in notes]
    assert names[0] == ["in the case (1, 'a')", "in the case (3, 'c')"]
    assert names[1] == [f"in the case {case}" for case in ("(1, 'a')", "(2, 'b')", "(3, 'c')")]


def test_a_table_without_cases_fails() -> None:
    """Where nothing is tried, nothing is proved."""
    with pytest.raises(AssertionError, match="without cases"):
        for_each("number", [])(lambda _number: None)()
